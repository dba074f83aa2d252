"""Writes resnet18.onnx and resnet50.onnx with random weights, for timing only.

    python3 tests/bench/make_resnets.py FOLDER

Needs Debian's python3-torchvision. Opset 13, input 'input' [N, 3, 224, 224], output 'output'
[N, 1000]. The seed is fixed; the files are never committed.
"""

import sys
from pathlib import Path

import torch
import torchvision


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("resnet18", "resnet50"):
        torch.manual_seed(1)
        model = getattr(torchvision.models, name)(weights=None).eval()
        # Statistics like those after training, so that activations stay in range in deep layers.
        model.train()
        with torch.no_grad():
            for _ in range(3):
                model(torch.randn(4, 3, 224, 224))
        model.eval()
        torch.onnx.export(
            model,
            torch.zeros(1, 3, 224, 224),
            str(folder / f"{name}.onnx"),
            opset_version=13,
            input_names=["input"],
            output_names=["output"],
            dynamic_axes={"input": {0: "N"}, "output": {0: "N"}},
            training=torch.onnx.TrainingMode.EVAL,
        )


if __name__ == "__main__":
    main()
