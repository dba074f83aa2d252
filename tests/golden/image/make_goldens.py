#!/usr/bin/env python3
"""Makes the files beside it with Pillow; run it in this folder. Made with Pillow 9.4.0.

input.png       61x47 RGB: gradients, stripes and noise of a fixed generator
resize_*.png    input.png by Image.resize(size, BILINEAR)
shorter_*.png   shorter side, longer = int(size * long / short), then the centre crop of torchvision
gray_*.png      convert("L"), then resize
upright.png     the small image that every turned_N.jpg shows when its orientation N is applied
turned_N.jpg    JPEG quality 95, 4:4:4, with EXIF orientation N
decode_*        one file per kind of encoding; decode_*.expect.png is what convert("RGB") gives;
                alpha_*.rgba.png is the file with its alpha
turned_N.webp   the same as turned_N.jpg, coded without loss
"""
import struct
import zlib

from PIL import Image, ImageOps, PngImagePlugin  # noqa: F401

state = 12345


def noise():
    global state
    state = (state * 1103515245 + 12345) & 0x7FFFFFFF
    return (state >> 16) & 0xFF


def make_input(width, height):
    image = Image.new("RGB", (width, height))
    for y in range(height):
        for x in range(width):
            stripe = 255 if (x // 3 + y // 5) % 2 else 0
            image.putpixel((x, y), (x * 255 // (width - 1), stripe, noise() if x > y else y * 5 % 256))
    return image


def save(image, name):
    image.save(name, optimize=True)


def shorter(image, size, crop):
    width, height = image.size
    short, long = sorted(image.size)
    longer = int(size * long / short)
    target = (size, longer) if width <= height else (longer, size)
    resized = image.resize(target, Image.BILINEAR)
    top = int(round((resized.size[1] - crop[1]) / 2.0))
    left = int(round((resized.size[0] - crop[0]) / 2.0))
    return resized.crop((left, top, left + crop[0], top + crop[1]))


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(
        ">I", zlib.crc32(kind + data) & 0xFFFFFFFF)


def write_png16(name, width, height, values):
    rows = b""
    for y in range(height):
        rows += b"\0" + b"".join(struct.pack(">H", v) for v in values[y * width * 3:(y + 1) * width * 3])
    with open(name, "wb") as out:
        out.write(b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0))
                  + png_chunk(b"IDAT", zlib.compress(rows, 9)) + png_chunk(b"IEND", b""))


source = make_input(61, 47)
save(source, "input.png")
for size in [(61, 47), (30, 30), (17, 47), (61, 9), (100, 80), (1, 1), (5, 120), (224, 3)]:
    save(source.resize(size, Image.BILINEAR), "resize_%dx%d.png" % size)
save(shorter(source, 32, (32, 32)), "shorter_32_32x32.png")
save(shorter(source, 40, (33, 27)), "shorter_40_33x27.png")
save(shorter(source.transpose(Image.TRANSPOSE), 25, (24, 22)), "shorter_transposed_25_24x22.png")
save(source.convert("L").resize((20, 31), Image.BILINEAR), "gray_20x31.png")

small = make_input(24, 16).resize((24, 16), Image.BILINEAR)
smooth = Image.linear_gradient("L").resize((24, 16), Image.BILINEAR)
small = Image.merge("RGB", (smooth, small.getchannel(0), smooth.transpose(Image.FLIP_TOP_BOTTOM)))
save(small, "upright.png")
inverse = {1: None, 2: Image.FLIP_LEFT_RIGHT, 3: Image.ROTATE_180, 4: Image.FLIP_TOP_BOTTOM,
           5: Image.TRANSPOSE, 6: Image.ROTATE_90, 7: Image.TRANSVERSE, 8: Image.ROTATE_270}
for orientation, method in inverse.items():
    turned = small if method is None else small.transpose(method)
    exif = Image.Exif()
    exif[0x0112] = orientation
    name = "turned_%d.jpg" % orientation
    turned.save(name, quality=95, subsampling=0, exif=exif)
    assert ImageOps.exif_transpose(Image.open(name)).size == small.size
    if orientation in (1, 6, 7):
        turned.save("turned_%d.webp" % orientation, lossless=True, exif=exif)


def decode_case(name, image, **options):
    image.save(name, **options)
    save(Image.open(name).convert("RGB"), name + ".expect.png")


image = source.resize((40, 30), Image.BILINEAR).resize((21, 17), Image.BILINEAR)
alpha = image.copy()
alpha.putalpha(Image.linear_gradient("L").resize(image.size))
decode_case("decode_gray.jpg", image.convert("L"), quality=90)
decode_case("decode_420.jpg", image, quality=90, subsampling=2)
decode_case("decode_422.jpg", image, quality=90, subsampling=1)
decode_case("decode_progressive.jpg", image, quality=90, progressive=True)
decode_case("decode_cmyk.jpg", image.convert("CMYK"), quality=95)
decode_case("decode_gray.png", image.convert("L"))
decode_case("decode_gray_alpha.png", alpha.convert("LA"))
decode_case("decode_alpha.png", alpha)
decode_case("decode_palette.png", image.quantize(11))
decode_case("decode_palette_transparent.png", image.quantize(200), transparency=3)
decode_case("decode_bits.png", image.convert("1"))
decode_case("decode_rgb.bmp", image)
decode_case("decode_gray.bmp", image.convert("L"))
decode_case("decode_palette.bmp", image.quantize(11))
decode_case("decode_bits.bmp", image.convert("1"))
decode_case("decode_alpha.bmp", alpha)
decode_case("decode_rgb.ppm", image)
decode_case("decode_gray.pgm", image.convert("L"))
decode_case("decode_lossy.webp", image, quality=80)
decode_case("decode_lossless.webp", image, lossless=True)
decode_case("decode_alpha_lossy.webp", alpha, quality=80)
decode_case("decode_alpha_lossless.webp", alpha, lossless=True, exact=True)
save(Image.open("decode_alpha_lossy.webp"), "alpha_lossy.rgba.png")
save(Image.open("decode_alpha_lossless.webp"), "alpha_lossless.rgba.png")
image.save("animated.webp", save_all=True, append_images=[image.transpose(Image.FLIP_LEFT_RIGHT)],
           lossless=True)

values = [noise() * 256 + noise() for _ in range(9 * 7 * 3)]
write_png16("decode_16bit.png", 9, 7, values)
expect = Image.new("RGB", (9, 7))
expect.putdata([tuple(v >> 8 for v in values[3 * i:3 * i + 3]) for i in range(63)])
assert list(Image.open("decode_16bit.png").convert("RGB").getdata()) == list(expect.getdata())
save(expect, "decode_16bit.png.expect.png")
