#!/usr/bin/env python3
"""The two example networks: their definition, training and ONNX export.

Needs Debian's python3-torch (1.13), python3-onnx and python3-numpy. Plain FP32 training:
nothing here knows of quantization.
"""
import argparse
import time

import numpy as np
import onnx
import torch
from torch import nn
from torch.nn import functional as F

MEAN, STD = 127.5, 63.75     # pixel units; data/preprocess.json says the same
EPOCHS = {"mobilenet": 16, "resnet": 14}
SHIFT = 4                    # largest random shift of a training image, in pixels


def conv_bn(cin, cout, kernel, stride=1, groups=1):
    return [nn.Conv2d(cin, cout, kernel, stride, kernel // 2, groups=groups, bias=False),
            nn.BatchNorm2d(cout)]


class InvertedResidual(nn.Module):
    def __init__(self, cin, cout, stride, expand):
        super().__init__()
        mid = cin * expand
        widen = conv_bn(cin, mid, 1) + [nn.ReLU6()] if expand > 1 else []
        self.body = nn.Sequential(*widen, *conv_bn(mid, mid, 3, stride, mid), nn.ReLU6(),
                                  *conv_bn(mid, cout, 1))
        self.add = stride == 1 and cin == cout

    def forward(self, x):
        return x + self.body(x) if self.add else self.body(x)


class BasicBlock(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.body = nn.Sequential(*conv_bn(cin, cout, 3, stride), nn.ReLU(),
                                  *conv_bn(cout, cout, 3))
        project = stride != 1 or cin != cout
        self.short = nn.Sequential(*conv_bn(cin, cout, 1, stride)) if project else None

    def forward(self, x):
        return F.relu(self.body(x) + (x if self.short is None else self.short(x)))


class Classifier(nn.Module):
    def __init__(self, features, width, classes):
        super().__init__()
        self.features = nn.Sequential(*features)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(width, classes)

    def forward(self, x):
        return self.fc(torch.flatten(self.pool(self.features(x)), 1))


def mobilenet(classes):
    """MobileNetV2 in small: 64 -> 32 -> 16 -> 8 -> 4 pixels, about 210 k parameters."""
    layers, cin = conv_bn(3, 16, 3, 2) + [nn.ReLU6()], 16
    for expand, cout, count, stride in ((1, 16, 1, 1), (4, 24, 2, 2), (4, 40, 3, 2), (5, 72, 3, 2)):
        for k in range(count):
            layers.append(InvertedResidual(cin, cout, stride if k == 0 else 1, expand))
            cin = cout
    layers += conv_bn(cin, 256, 1) + [nn.ReLU6()]
    return Classifier(layers, 256, classes)


def resnet(classes):
    """ResNet in small: 64 -> 32 -> 16 -> 8 pixels, about 245 k parameters."""
    layers, cin = conv_bn(3, 16, 3, 2) + [nn.ReLU()], 16
    for cout, count, stride in ((16, 1, 1), (32, 2, 2), (64, 3, 2)):
        for k in range(count):
            layers.append(BasicBlock(cin, cout, stride if k == 0 else 1))
            cin = cout
    return Classifier(layers, cin, classes)


def build(name, classes):
    return {"mobilenet": mobilenet, "resnet": resnet}[name](classes)


def to_input(images):
    """uint8 [N, 64, 64, 3] -> normalised float [N, 3, 64, 64]."""
    x = torch.from_numpy(np.ascontiguousarray(images)).permute(0, 3, 1, 2).float()
    # Channels last in memory: twice as fast for the depthwise layers.
    return ((x - MEAN) / STD).contiguous(memory_format=torch.channels_last)


def predict(model, images, batch=200):
    model.eval()
    with torch.no_grad():
        return torch.cat([model(to_input(images[k:k + batch])).argmax(1)
                          for k in range(0, len(images), batch)]).numpy()


def shifted(rng, images):
    """Each image moved by a few pixels, its border repeated."""
    size = images.shape[1]
    padded = np.pad(images, ((0, 0), (SHIFT, SHIFT), (SHIFT, SHIFT), (0, 0)), "edge")
    moves = rng.integers(0, 2 * SHIFT + 1, (len(images), 2))
    return np.stack([p[y:y + size, x:x + size] for p, (y, x) in zip(padded, moves)])


def fit(name, data, seed, epochs, batch=128):
    """One-cycle SGD; returns the model and its accuracy on the validation draw."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    images, labels = data["train_x"], data["train_y"]
    model = build(name, int(labels.max()) + 1).to(memory_format=torch.channels_last)
    steps = len(images) // batch
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True,
                                weight_decay=4e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.15, total_steps=steps * epochs,
                                                   pct_start=0.25)
    accuracy = 0.0
    for epoch in range(epochs):
        model.train()
        start, total = time.time(), 0.0
        order = rng.permutation(len(images))
        for k in range(steps):
            pick = order[k * batch:(k + 1) * batch]
            loss = F.cross_entropy(model(to_input(shifted(rng, images[pick]))),
                                   torch.from_numpy(labels[pick]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
        accuracy = float((predict(model, data["valid_x"]) == data["valid_y"]).mean())
        print("%s epoch %2d  loss %.4f  validation %.4f  %.0f s"
              % (name, epoch + 1, total / steps, accuracy, time.time() - start), flush=True)
    return model, accuracy


def unshare(graph):
    """Gives every tensor its own initializer.

    A shortcut's last bias gets the same gradients as that of the block's body, so both end up
    equal; torch then stores one and reaches it from the other through an Identity node.
    """
    stored = {t.name: t for t in graph.initializer}
    for node in [n for n in graph.node if n.op_type == "Identity" and n.input[0] in stored]:
        graph.initializer.add().CopyFrom(stored[node.input[0]])
        graph.initializer[-1].name = node.output[0]
        graph.node.remove(node)


def export(model, path):
    """Writes opset 13 with BatchNormalization left as nodes, and checks what was written."""
    model.eval().to(memory_format=torch.contiguous_format)
    torch.onnx.export(model, torch.zeros(1, 3, 64, 64), path, opset_version=13,
                      training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False,
                      input_names=["input"], output_names=["output"],
                      dynamic_axes={"input": {0: "N"}, "output": {0: "N"}})
    proto = onnx.load(path)
    unshare(proto.graph)
    onnx.save(proto, path)
    onnx.checker.check_model(proto, full_check=True)
    norms = [n for n in proto.graph.node if n.op_type == "BatchNormalization"]
    assert norms and all(len(n.output) == 1 for n in norms)
    assert not any(a.name == "training_mode" and a.i for n in norms for a in n.attribute)
    assert proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "N"
    assert proto.ir_version <= 8 and proto.opset_import[0].version == 13
    known = {"Conv", "BatchNormalization", "Clip", "Relu", "Add", "GlobalAveragePool", "Flatten",
             "Gemm", "Constant"}
    assert {n.op_type for n in proto.graph.node} <= known


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("net", choices=sorted(EPOCHS))
    parser.add_argument("--cache", required=True, help="npz with train_x/y and valid_x/y")
    parser.add_argument("--out", required=True, help="ONNX file to write")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--epochs", type=int)
    args = parser.parse_args()
    # One thread each: the two networks train side by side, and sums keep their order.
    torch.set_num_threads(1)
    with np.load(args.cache) as data:
        data = dict(data)
    model, _ = fit(args.net, data, args.seed, args.epochs or EPOCHS[args.net])
    export(model, args.out)


if __name__ == "__main__":
    main()
