"""Takes torchvision's networks the whole way and prints a table of what came of each.

    python3 tests/bench/sweep.py --qtool PATH --packages DIR [--images DIR] [--work DIR] [NAME ...]

For each network, with random weights from a fixed seed: export to ONNX (opset 13), calibrate on a
few images, quantize, and run FP32 and INT8 on other images both here and in ONNX Runtime.
--packages is where onnxruntime-node is installed: the build folder of the interop tests. --images
is a folder of photographs (default: the example's). --threads says how many threads qtool and ONNX
Runtime take. NAME picks single networks. Exported files lie in --work and are never committed.

Columns: size of the file; FP32, the largest difference between qtool and ONNX Runtime
over the largest output; the share of multiplications on integers; SQNR of qtool's INT8 against
ONNX Runtime's, twice: node by node as the INT8 model says (its optimizer off: sums are floats there,
so that ties fall either way), and on its integer kernels. Without VNNI instructions these add pairs of products in 16 bits, which saturate, so that
the second model has weights of 7 bits on such a machine; the line above the table says so. Last,
qtool's INT8 against FP32 (of random weights, so it says little about trained ones). Exit code 1
when a network misses a limit: FP32 1e-4, 95 % of multiplications, 30 dB on the integer kernels.
docs/sweep.md has the table.

Needs Debian's python3-torchvision, and node; says SKIPPED without either.
"""

import argparse
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

try:
    import numpy as np
    import torch
    import torchvision
except ImportError as missing:
    print(f"SKIPPED: torchvision is not installed\n{missing}; Debian's python3-torchvision has it")
    sys.exit(0)

ROOT = Path(__file__).resolve().parents[2]
MAX_FP32_DIFFERENCE = 1e-4
MIN_INTEGER_PERCENT = 95.0
MIN_SQNR_DB = 30.0
CALIBRATED = 8
COMPARED = 2

# One or two of each family: name, builder, side of the square input.
CLASSIFIERS = {
    "alexnet": 224,
    "convnext_tiny": 224,
    "densenet121": 224,
    "efficientnet_b0": 224,
    "efficientnet_v2_s": 224,
    "googlenet": 224,
    "inception_v3": 299,
    "mnasnet1_0": 224,
    "mobilenet_v2": 224,
    "mobilenet_v3_large": 224,
    "mobilenet_v3_small": 224,
    "regnet_x_400mf": 224,
    "regnet_y_400mf": 224,
    "resnet18": 224,
    "resnet50": 224,
    "resnext50_32x4d": 224,
    "shufflenet_v2_x1_0": 224,
    "squeezenet1_1": 224,
    "swin_t": 224,
    "vgg11_bn": 224,
    "vgg16": 224,
    "vit_b_16": 224,
    "wide_resnet50_2": 224,
}
SEGMENTATION = {
    "deeplabv3_mobilenet_v3_large": 224,
    "fcn_resnet50": 224,
    "lraspp_mobilenet_v3_large": 224,
}
DETECTION = {
    "fasterrcnn_mobilenet_v3_large_320_fpn": 320,
    "fasterrcnn_resnet50_fpn": 320,
    "retinanet_resnet50_fpn": 320,
    "ssdlite320_mobilenet_v3_large": 320,
}


class Segmentation(torch.nn.Module):
    """The map alone: the other output serves training."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x)["out"]


class BeforeSelection(torch.nn.Module):
    """A detector up to its raw scores and boxes: near-equal scores of random weights decide what
    non-maximum suppression keeps, so what follows cannot be compared."""

    def __init__(self, model):
        super().__init__()
        self.backbone = model.backbone
        self.head = model.rpn.head if hasattr(model, "rpn") else model.head

    def forward(self, x):
        found = self.head(list(self.backbone(x).values()))
        groups = found.values() if isinstance(found, dict) else found
        flat = []
        for group in groups:
            flat.extend(group if isinstance(group, (list, tuple)) else [group])
        return tuple(flat)


def build(name):
    torch.manual_seed(1)
    if name in CLASSIFIERS:
        options = {"weights": None}
        if name in ("googlenet", "inception_v3"):
            options.update(init_weights=True, aux_logits=False)
        return getattr(torchvision.models, name)(**options), CLASSIFIERS[name]
    if name in SEGMENTATION:
        model = getattr(torchvision.models.segmentation, name)(weights=None, weights_backbone=None)
        return Segmentation(model), SEGMENTATION[name]
    model = getattr(torchvision.models.detection, name)(weights=None, weights_backbone=None)
    return BeforeSelection(model), DETECTION[name]


def export(name, file):
    model, side = build(name)
    for weights in model.parameters():  # a last layer of zeros would hide all differences
        if weights.dim() > 1 and not weights.any():
            torch.nn.init.normal_(weights, std=0.02)
    # Statistics like those after training, so that activations stay in range in deep layers.
    model.train()
    for module in model.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.momentum = 0.5
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    with torch.no_grad():
        for _ in range(3):
            model(torch.randn(2, 3, side, side))
    model.eval()
    torch.onnx.export(model, torch.zeros(1, 3, side, side), str(file), opset_version=13,
                      input_names=["input"], training=torch.onnx.TrainingMode.EVAL)
    return side


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        raise RuntimeError(lines[-1])
    return done.stdout


def multiplies_exactly():
    """Whether ONNX Runtime's u8 x s8 products are exact on this machine."""
    flags = set(Path("/proc/cpuinfo").read_text().split())
    return bool(flags & {"avx512_vnni", "avx_vnni"})


def other_runtime(model, feed, folder, options, level="all"):
    folder.mkdir(parents=True, exist_ok=True)
    feed.astype("<f4").tofile(folder / "input.f32")
    dims = "x".join(str(extent) for extent in feed.shape)
    text = subprocess.run(
        ["node", str(ROOT / "tests/interop/run.mjs"), str(model), "--input",
         f"input={dims}={folder / 'input.f32'}", "--output", str(folder), "--threads", str(options.threads), "--level", level],
        capture_output=True, text=True, cwd=options.packages)
    if text.returncode != 0:
        raise RuntimeError(text.stderr.strip().splitlines()[-1])
    outputs = json.loads(text.stdout)["outputs"]
    return {o["name"]: np.fromfile(o["file"], "<f4").reshape(o["dims"]) for o in outputs}


def decibels(reference, other):
    noise = float(((reference - other) ** 2).sum())
    power = float((reference ** 2).sum())
    return math.inf if noise == 0 else 10 * math.log10(power / noise) if power > 0 else -math.inf


def take(name, options):
    """One network the whole way. Returns the cells of its row."""
    work = options.work / name
    work.mkdir(parents=True, exist_ok=True)
    model = work / f"{name}.onnx"
    side = {**CLASSIFIERS, **SEGMENTATION, **DETECTION}[name]
    if not model.exists():
        export(name, model)
    images = sorted(path for path in Path(options.images).rglob("*") if path.suffix in (".jpg", ".png"))
    calibrated = images[:: max(1, len(images) // CALIBRATED)][:CALIBRATED]
    compared = [path for path in images if path not in calibrated]
    compared = compared[:: max(1, len(compared) // COMPARED)][:COMPARED]
    (work / "calib.txt").write_text("".join(f"{path.resolve()}\n" for path in calibrated))

    table, int8 = work / "table.json", work / "int8.onnx"
    threads = ["--threads", options.threads, "--quiet"]
    run(options.qtool, "calibrate", model, "--images", work / "calib.txt", "--preprocess", "imagenet",
        "--resize", f"{side}x{side}", "--crop", "none", "-o", table, *threads)
    report = json.loads(run(options.qtool, "quantize", model, "--table", table, "-o", int8, "--json",
                            *threads))
    integer = 100.0 * report["coverage"]["integer_macs"] / max(1, report["coverage"]["macs"])
    kernels = int8
    if not multiplies_exactly():
        kernels = work / "int8.7-bit-weights.onnx"
        run(options.qtool, "quantize", model, "--table", table, "--weight-bits", 7, "-o", kernels,
            *threads)

    inspected = json.loads(run(options.qtool, "inspect", model, "--json", *threads))
    names = [output["name"] for output in inspected["outputs"]]

    def ours(quantized, image, number):
        """The tensors of FP32 and of INT8 by name, and what was fed."""
        dump = work / f"dump{number}"
        for old in dump.glob("*"):
            old.unlink()
        wanted = [word for tensor in ["input", *names] for word in ("--dump", tensor)]
        run(options.qtool, "infer", model, "--int8", quantized, "--image", image, "--repeat", 1,
            *wanted, "--dump-dir", dump, *threads)
        listed = {t["name"]: t for t in json.loads((dump / "tensors.json").read_text())["tensors"]}
        load = lambda tensor, kind: np.load(dump / listed[tensor][kind]["file"])
        return ({tensor: load(tensor, "fp32") for tensor in names},
                {tensor: load(tensor, "int8") for tensor in names}, load("input", "fp32"))

    worst_fp32, defined, on_kernels, against_fp32 = 0.0, math.inf, math.inf, math.inf
    for number, image in enumerate(compared):
        fp32, quantized, feed = ours(int8, image, number)
        other_fp32 = other_runtime(model, feed, work / "other", options)
        for tensor in names:
            peak = float(np.abs(other_fp32[tensor]).max()) or 1.0
            worst_fp32 = max(worst_fp32,
                             float(np.abs(fp32[tensor] - other_fp32[tensor]).max()) / peak)
            against_fp32 = min(against_fp32, decibels(fp32[tensor], quantized[tensor]))
        other = other_runtime(int8, feed, work / "other", options, "disabled")
        defined = min(defined, *(decibels(other[t], quantized[t]) for t in names))
        if kernels != int8:
            _, quantized, feed = ours(kernels, image, number)
        other = other_runtime(kernels, feed, work / "other", options)
        on_kernels = min(on_kernels, *(decibels(other[t], quantized[t]) for t in names))
    good = (worst_fp32 <= MAX_FP32_DIFFERENCE and integer >= MIN_INTEGER_PERCENT
            and on_kernels >= MIN_SQNR_DB)
    cells = [name, f"{model.stat().st_size / 1e6:.0f}", f"{worst_fp32:.1e}", f"{integer:.1f}",
             f"{defined:.1f}", f"{on_kernels:.1f}", f"{against_fp32:.1f}"]
    return cells, good


def main():
    every = [*CLASSIFIERS, *SEGMENTATION, *DETECTION]
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qtool", required=True)
    parser.add_argument("--packages", required=True)
    parser.add_argument("--images", default=ROOT / "data/calib")
    parser.add_argument("--work", type=Path, default=Path("build/sweep"))
    parser.add_argument("--threads", default="2")
    parser.add_argument("names", nargs="*", choices=[*every, []], metavar="NAME")
    options = parser.parse_args()
    package = Path(options.packages) / "node_modules/onnxruntime-node/package.json"
    if shutil.which("node") is None or not package.exists():
        print("SKIPPED: ONNX Runtime is not installed")
        sys.exit(0)
    torch.set_num_threads(int(options.threads))
    if multiplies_exactly():
        print("Weights of 8 bits throughout.\n")
    else:
        print("This machine has no VNNI instructions: weights of 7 bits in the column `its kernels`, "
              "of 8 in the others.\n")
    print("| network | MB | FP32: difference to ONNX Runtime | MACs on integers, % | "
          "INT8 against ONNX Runtime, dB: as defined | its kernels | INT8 against FP32, dB |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    missed = 0
    for name in options.names or every:
        try:
            cells, good = take(name, options)
        except (RuntimeError, KeyError, ValueError) as error:
            cells, good = [name, "", "", "", f"failed: {error}"], False
        missed += not good
        print("| " + " | ".join(cells) + (" |" if good else " | **missed** |"), flush=True)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
