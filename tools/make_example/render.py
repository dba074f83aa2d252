#!/usr/bin/env python3
"""Renders road-sign-like pictograms; every image is a pure function of (seed, class, index).

Needs Debian's python3-pil and python3-numpy. Signs are drawn as geometry only, so no
font and no outside image is involved.
"""
import io
import math

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

SIZE = 64        # side of a finished image
SS = 2           # supersampling of the scene, so that edges and blur are smooth
FACE = 160       # side of the flat sign before it is put into perspective

# How hard the images are. Judged by the validation draw, never by the test images.
RADIUS = (9.5, 25.0)     # half the sign's side, in pixels of the finished image
TILT = 0.24              # largest shift of a corner, as a share of the radius
BLUR = 7.5               # longest motion blur, in pixels
NOISE = (1.5, 20.0)      # standard deviation of the sensor noise, in grey levels
OCCLUDED = 0.45          # share of signs with something in front of them
QUALITY = (50, 90)       # JPEG quality

CLASSES = [
    "red_triangle_bolt", "red_triangle_exclamation", "red_triangle_cross", "red_triangle_bumps",
    "red_circle_slash", "red_circle_cross", "red_circle_bar",
    "red_octagon_bar", "red_octagon_hand",
    "blue_circle_arrow_left", "blue_circle_arrow_right", "blue_circle_arrow_up",
    "blue_circle_ring",
    "blue_square_arrow_up", "blue_square_house", "blue_square_hospital",
    "yellow_diamond_bumps", "yellow_diamond_fork",
    "green_square_star", "green_square_cross",
]

RED, BLUE, GREEN = (190, 24, 32), (20, 72, 168), (10, 120, 66)
YELLOW, WHITE, BLACK = (240, 186, 20), (240, 240, 236), (22, 22, 24)

# colour_shape: (rim, face, symbol, width of the rim, scale of the symbol, its shift down)
STYLE = {
    "red_triangle": (RED, WHITE, BLACK, 0.30, 0.44, 0.24),
    "red_circle": (RED, WHITE, BLACK, 0.20, 0.62, 0.0),
    "red_octagon": (WHITE, RED, WHITE, 0.08, 0.66, 0.0),
    "blue_circle": (WHITE, BLUE, WHITE, 0.06, 0.66, 0.0),
    "blue_square": (WHITE, BLUE, WHITE, 0.06, 0.70, 0.0),
    "yellow_diamond": (BLACK, YELLOW, BLACK, 0.10, 0.52, 0.0),
    "green_square": (WHITE, GREEN, WHITE, 0.06, 0.72, 0.0),
}


def ngon(n, turn=0.0, r=1.0, centre=(0.0, 0.0)):
    """Corners of a regular polygon; y points down, the first corner up when turn is 0."""
    step = 2 * math.pi / n
    return [(centre[0] + r * math.sin(turn + k * step), centre[1] - r * math.cos(turn + k * step))
            for k in range(n)]


OUTLINE = {
    "triangle": [(0, -0.95), (1.0, 0.80), (-1.0, 0.80)],
    "circle": ngon(48),
    "octagon": ngon(8, math.pi / 8, 1.04),
    "square": [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    "diamond": ngon(4, 0.0, 1.1),
}

ARROW = [(0, -1), (0.75, -0.1), (0.25, -0.1), (0.25, 0.95), (-0.25, 0.95), (-0.25, -0.1),
         (-0.75, -0.1)]
STAR = [p for k in range(5)
        for p in (ngon(5, 0, 1.0)[k], ngon(5, math.pi / 5, 0.42)[k])]


def bar(x0, y0, x1, y1):
    return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]


# Each symbol is a list of polygons in [-1, 1]; None switches to the face's colour, for holes.
SYMBOL = {
    "bolt": [[(0.25, -1), (-0.55, 0.15), (-0.05, 0.15), (-0.3, 1), (0.55, -0.25), (0.05, -0.25)]],
    "exclamation": [[(-0.24, -1), (0.24, -1), (0.13, 0.4), (-0.13, 0.4)],
                    ngon(16, 0, 0.22, (0, 0.78))],
    "cross": [bar(-0.24, -0.9, 0.24, 0.9), bar(-0.9, -0.24, 0.9, 0.24)],
    "bumps": [bar(-1, 0.35, 1, 0.62), ngon(20, 0, 0.46, (-0.5, 0.3)), ngon(20, 0, 0.46, (0.5, 0.3)),
              None, bar(-1.1, 0.62, 1.1, 1.0)],
    "slash": [[(-0.9, 0.62), (0.62, -0.9), (0.9, -0.62), (-0.62, 0.9)]],
    "bar": [bar(-0.9, -0.24, 0.9, 0.24)],
    "hand": [bar(-0.5, 0.0, 0.5, 0.9), bar(-0.5, -0.75, -0.29, 0.1), bar(-0.23, -0.98, -0.02, 0.1),
             bar(0.04, -0.98, 0.25, 0.1), bar(0.31, -0.72, 0.5, 0.1),
             [(0.45, 0.5), (0.85, -0.1), (0.98, 0.05), (0.5, 0.85)]],
    "arrow_up": [ARROW],
    "arrow_right": [[(-y, x) for x, y in ARROW]],
    "arrow_left": [[(y, x) for x, y in ARROW]],
    "ring": [ngon(32, 0, 0.9), None, ngon(32, 0, 0.5)],
    "house": [[(0, -0.95), (1, -0.1), (-1, -0.1)], bar(-0.7, -0.15, 0.7, 0.85),
              None, bar(-0.2, 0.2, 0.2, 0.9)],
    "hospital": [bar(-0.7, -0.9, -0.32, 0.9), bar(0.32, -0.9, 0.7, 0.9),
                 bar(-0.5, -0.2, 0.5, 0.2)],
    "fork": [bar(-0.17, 0.0, 0.17, 1), [(-0.17, 0.3), (0.17, 0.1), (-0.6, -0.95), (-0.9, -0.75)],
             [(0.17, 0.3), (-0.17, 0.1), (0.6, -0.95), (0.9, -0.75)]],
    "star": [STAR],
}


def split_name(name):
    """`red_triangle_bolt` -> (`red_triangle`, `triangle`, `bolt`)."""
    colour, shape, symbol = name.split("_", 2)
    return colour + "_" + shape, shape, symbol


def paint_jitter(rng, colour, amount=18):
    """Paint fades and batches differ: the same colour never twice exactly."""
    return tuple(int(np.clip(c + rng.normal(0, amount), 0, 255)) for c in colour)


def flat_sign(rng, name, with_symbol=True):
    """The sign seen straight on, as an RGBA image."""
    key, shape, symbol = split_name(name)
    rim, face, ink, rim_width, scale, shift = STYLE[key]
    rim, face, ink = (paint_jitter(rng, c) for c in (rim, face, ink))
    image = Image.new("RGBA", (FACE, FACE), rim + (0,))
    draw = ImageDraw.Draw(image)
    half = FACE / 2

    def fill(points, colour, k, dy=0.0):
        k *= half * 0.88
        draw.polygon([(half + k * x, half + k * y + dy * half) for x, y in points], colour + (255,))

    fill(OUTLINE[shape], rim, 1.0)
    # A triangle's inner edge is further from its corners, so its face sinks a little.
    fill(OUTLINE[shape], face, 1.0 - rim_width, 0.06 if shape == "triangle" else 0.0)
    if with_symbol:
        scale *= rng.uniform(0.9, 1.1)
        colour = ink
        for polygon in SYMBOL[symbol]:
            if polygon is None:
                colour = face
            else:
                fill(polygon, colour, scale, shift)
    return image


def place(rng, scene, sign, centre, radius):
    """Pastes the flat sign into the scene, turned and in perspective; gives the visible mask."""
    turn = math.radians(rng.normal(0, 7))
    squeeze = rng.uniform(0.72, 1.0)
    source = [(0, 0), (FACE, 0), (FACE, FACE), (0, FACE)]
    rows, rhs = [], []
    for (u, v), (cx, cy) in zip(source, [(-1, -1), (1, -1), (1, 1), (-1, 1)]):
        x = radius * (cx * squeeze + rng.uniform(-TILT, TILT))
        y = radius * (cy + rng.uniform(-TILT, TILT))
        x, y = (centre[0] + x * math.cos(turn) - y * math.sin(turn),
                centre[1] + x * math.sin(turn) + y * math.cos(turn))
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        rhs += [u, v]
    # PIL wants the map from the output back to the input, hence scene -> sign.
    coeffs = np.linalg.solve(np.array(rows, float), np.array(rhs, float))
    # A minified face is sampled without prefilter by PIL, so soften it first.
    sign = sign.filter(ImageFilter.BoxBlur(max(0.0, FACE / (2 * radius) / 2 - 0.5)))
    warped = sign.transform(scene.size, Image.PERSPECTIVE, tuple(coeffs), Image.BILINEAR)
    scene.paste(warped, (0, 0), warped)


def scene_colour(rng):
    """Mostly dull colours, now and then a vivid one that competes with the signs."""
    grey = rng.uniform(30, 225)
    spread = 60 if rng.random() < 0.2 else 18
    return tuple(int(np.clip(grey + rng.normal(0, spread), 0, 255)) for _ in range(3))


def background(rng, side):
    """Sky over ground, then houses, foliage, wires and stray blank signs."""
    top, bottom = (np.array(scene_colour(rng), float) for _ in range(2))
    ramp = np.linspace(0, 1, side)[:, None, None] ** rng.uniform(0.5, 2.0)
    plane = np.broadcast_to(top + (bottom - top) * ramp, (side, side, 3))
    scene = Image.fromarray(plane.astype(np.uint8), "RGB")
    draw = ImageDraw.Draw(scene)
    for _ in range(rng.integers(3, 12)):
        x, y = rng.uniform(-0.2, 1.0, 2) * side
        w, h = rng.uniform(0.1, 0.6, 2) * side
        colour, kind = scene_colour(rng), rng.random()
        if kind < 0.35:
            draw.rectangle([x, y, x + w, y + h], colour)
            if rng.random() < 0.6:
                pane, step = scene_colour(rng), rng.uniform(8, 18)
                for wx in np.arange(x + 3, x + w - step, step):
                    for wy in np.arange(y + 3, y + h - step, step):
                        draw.rectangle([wx, wy, wx + step * 0.5, wy + step * 0.6], pane)
        elif kind < 0.6:
            for _ in range(12):
                r = rng.uniform(2, 10)
                lx, ly = x + rng.uniform(0, w), y + rng.uniform(0, h)
                leaf = tuple(max(0, int(c * rng.uniform(0.5, 1.0))) for c in colour)
                draw.ellipse([lx - r, ly - r, lx + r, ly + r], leaf)
        elif kind < 0.85:
            draw.polygon([tuple(p) for p in rng.uniform(-0.1, 1.1, (3, 2)) * side], colour)
        else:
            draw.line([x, y, x + w * 3, y + h - side * 0.2], colour, int(rng.integers(1, 5)))
    if rng.random() < 0.35:
        other = flat_sign(rng, CLASSES[rng.integers(len(CLASSES))], with_symbol=False)
        place(rng, scene, other, tuple(rng.uniform(-0.1, 1.1, 2) * side), rng.uniform(8, 20) * SS)
    return scene


def occlude(rng, scene, centre, radius):
    """A branch, a leaf or a post across part of the sign."""
    draw = ImageDraw.Draw(scene)
    angle = rng.uniform(0, 2 * math.pi)
    reach = radius * rng.uniform(0.35, 0.95)
    x, y = centre[0] + reach * math.cos(angle), centre[1] + reach * math.sin(angle)
    colour, kind = scene_colour(rng), rng.random()
    if kind < 0.4:
        r = radius * rng.uniform(0.2, 0.5)
        draw.polygon([(x + r * a, y + r * b) for a, b in
                      ngon(7, angle) * np.array([[1.0, rng.uniform(0.5, 1)]])], colour)
    elif kind < 0.7:
        for _ in range(10):
            r = radius * rng.uniform(0.06, 0.2)
            lx, ly = x + rng.normal(0, radius * 0.25), y + rng.normal(0, radius * 0.25)
            leaf = tuple(int(c * rng.uniform(0.5, 1.0)) for c in colour)
            draw.ellipse([lx - r, ly - r, lx + r, ly + r], leaf)
    else:
        tilt = rng.uniform(-0.5, 0.5) * radius
        draw.line([x - tilt, -5, x + tilt, scene.size[1] + 5], colour,
                  max(1, int(radius * rng.uniform(0.08, 0.3))))


def light(rng, pixels):
    """Exposure, a gradient across the image, a colour cast, haze and sometimes a shadow edge."""
    side = pixels.shape[0]
    v, u = np.mgrid[0:side, 0:side] / (side - 1) - 0.5
    angle = rng.uniform(0, 2 * math.pi)
    across = u * math.cos(angle) + v * math.sin(angle)
    gain = rng.uniform(0.45, 1.25) * (1 + rng.uniform(0, 0.9) * across)
    if rng.random() < 0.3:
        edge = u * math.cos(angle * 3) + v * math.sin(angle * 3) + rng.uniform(-0.3, 0.3)
        gain *= np.where(edge > 0, 1.0, rng.uniform(0.4, 0.75))
    pixels = pixels * gain[:, :, None] * rng.normal(1.0, 0.07, 3)
    haze = rng.uniform(0, 0.45) ** 1.5
    return pixels * (1 - haze) + haze * rng.uniform(90, 220)


def smear(rng, pixels):
    """Motion blur along a line: the mean of shifted copies."""
    length = BLUR * SS * rng.random() ** 2.2
    angle = rng.uniform(0, math.pi)
    steps = int(length) + 1
    pad = steps // 2 + 1
    wide = np.pad(pixels, ((pad, pad), (pad, pad), (0, 0)), "edge")
    total = np.zeros_like(pixels)
    for k in range(steps):
        t = k - (steps - 1) / 2
        dx, dy = pad + round(t * math.cos(angle)), pad + round(t * math.sin(angle))
        total += wide[dy:dy + pixels.shape[0], dx:dx + pixels.shape[1]]
    return total / steps


def render(seed, label, index):
    """One image as the bytes of a JPEG file."""
    rng = np.random.default_rng([seed, label, index])
    side = SIZE * SS
    scene = background(rng, side)
    # Small signs are as likely as large ones on a logarithmic scale, as on a road.
    radius = SS * math.exp(rng.uniform(math.log(RADIUS[0]), math.log(RADIUS[1])))
    room = max(2.0, side / 2 - radius)
    centre = tuple(side / 2 + rng.uniform(-room, room, 2) * 0.85)
    if rng.random() < 0.8:
        ImageDraw.Draw(scene).line([centre[0], centre[1], centre[0] + rng.normal(0, 3), side],
                                   scene_colour(rng), max(2, int(radius * 0.14)))
    place(rng, scene, flat_sign(rng, CLASSES[label]), centre, radius)
    if rng.random() < OCCLUDED:
        occlude(rng, scene, centre, radius)
    scene = scene.filter(ImageFilter.GaussianBlur(SS * rng.uniform(0.1, 1.1)))
    pixels = smear(rng, light(rng, np.asarray(scene, np.float32)).astype(np.float32))
    pixels = pixels.reshape(SIZE, SS, SIZE, SS, 3).mean((1, 3))
    low, high = NOISE
    sigma = low + (high - low) * rng.random() ** 2
    # Shot noise grows with the light; a floor stands for the read-out.
    spread = sigma * (0.4 + 0.6 * np.sqrt(np.clip(pixels, 0, 255) / 128))
    pixels = np.clip(pixels + rng.normal(0, 1, pixels.shape) * spread, 0, 255)
    out = io.BytesIO()
    Image.fromarray(pixels.round().astype(np.uint8), "RGB").save(
        out, "JPEG", quality=int(rng.integers(QUALITY[0], QUALITY[1] + 1)))
    return out.getvalue()


def decode(data):
    """A JPEG file's bytes as a uint8 array [64, 64, 3]."""
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
