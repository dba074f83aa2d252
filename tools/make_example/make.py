#!/usr/bin/env python3
"""Regenerates everything in data/: the images, the two networks and PROVENANCE.md.

Needs Debian's python3-torch, python3-onnx, python3-pil and python3-numpy. Run from anywhere:
    python3 tools/make_example/make.py            renders, trains, exports and measures
    python3 tools/make_example/make.py --measure  only measures what is in data/
"""
import argparse
import hashlib
import json
import multiprocessing
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

# One thread per process: rendering and training run side by side, and sums keep their order.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import onnx
import onnx.numpy_helper
import PIL
import torch

import render
import train

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent.parent / "data"

# name: (seed, images per class). The seeds differ, so no image is in two sets.
DRAWS = {"train": (1001, 700), "valid": (2002, 100), "calib": (3003, 10), "test": (4004, 50)}
NETS = {"mobilenet": 11, "resnet": 12}     # name: training seed


def one(job):
    return render.render(*job)


def draw(pool, name):
    """All JPEG files of one set, class by class."""
    seed, count = DRAWS[name]
    jobs = [(seed, c, k) for c in range(len(render.CLASSES)) for k in range(count)]
    return pool.map(one, jobs, chunksize=50), np.array([c for _, c, _ in jobs], np.int64)


def write_folders(name, files, labels):
    folder = DATA / name
    shutil.rmtree(folder, ignore_errors=True)
    for position, (content, label) in enumerate(zip(files, labels)):
        path = folder / render.CLASSES[label] / ("%03d.jpg" % (position % DRAWS[name][1]))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def write_images(cache):
    """The shipped folders into data/, training and validation images into the cache."""
    arrays = {}
    with multiprocessing.Pool() as pool:
        for name in DRAWS:
            files, labels = draw(pool, name)
            if name in ("calib", "test"):
                write_folders(name, files, labels)
            else:
                arrays[name + "_x"] = np.stack([render.decode(f) for f in files])
                arrays[name + "_y"] = labels
    np.savez(cache, **arrays)
    (DATA / "labels.txt").write_text("\n".join(render.CLASSES) + "\n")
    values = {"channels": "rgb", "mean": [train.MEAN] * 3, "std": [train.STD] * 3,
              "layout": "nchw"}
    (DATA / "preprocess.json").write_text(json.dumps(values) + "\n")


def train_networks(cache):
    jobs = [subprocess.Popen([sys.executable, str(HERE / "train.py"), name, "--cache", str(cache),
                              "--out", str(DATA / ("signs_%s.onnx" % name)),
                              "--seed", str(NETS[name])]) for name in NETS]
    if any([job.wait() for job in jobs]):
        sys.exit("training failed")


def shipped_model(name):
    """The network with the weights that are in the shipped ONNX file."""
    graph = onnx.load(str(DATA / ("signs_%s.onnx" % name))).graph
    stored = {t.name: torch.from_numpy(onnx.numpy_helper.to_array(t).copy())
              for t in graph.initializer}
    model = train.build(name, len(render.CLASSES))
    missing, unexpected = model.load_state_dict(stored, strict=False)
    assert not unexpected and all(k.endswith("num_batches_tracked") for k in missing)
    return model.to(memory_format=torch.channels_last)


def measure():
    """Top-1 of the shipped networks on the shipped test files, and the parameter counts."""
    images, labels = [], []
    for label, name in enumerate((DATA / "labels.txt").read_text().split()):
        for path in sorted((DATA / "test" / name).iterdir()):
            images.append(render.decode(path.read_bytes()))
            labels.append(label)
    images, labels = np.stack(images), np.array(labels)
    result = {}
    for name in NETS:
        model = shipped_model(name)
        right = int((train.predict(model, images) == labels).sum())
        result[name] = (right, len(labels), sum(p.numel() for p in model.parameters()))
        print("%s: FP32 top-1 %d / %d, %d parameters" % ((name,) + result[name]))
    return result


def write_provenance(result):
    text = (HERE / "PROVENANCE.in.md").read_text()
    rows, sums = [], []
    for name, (right, total, parameters) in result.items():
        path = DATA / ("signs_%s.onnx" % name)
        rows.append("| `%s` | %d | %d | %d | %d | %.1f %% (%d / %d) |"
                    % (path.name, parameters, path.stat().st_size, NETS[name],
                       train.EPOCHS[name], 100.0 * right / total, right, total))
        sums.append("    %s  %s" % (hashlib.sha256(path.read_bytes()).hexdigest(), path.name))
    draws = ["| %s | %d | %d | %s |" % (name, seed, count * len(render.CLASSES), "`data/%s/`" % name
             if name in ("calib", "test") else "not shipped")
             for name, (seed, count) in DRAWS.items()]
    versions = "Python %s, torch %s, onnx %s, Pillow %s, numpy %s" % (
        platform.python_version(), torch.__version__, onnx.__version__, PIL.__version__,
        np.__version__)
    for key, value in {"@NETS@": "\n".join(rows), "@SUMS@": "\n".join(sums),
                       "@DRAWS@": "\n".join(draws), "@VERSIONS@": versions}.items():
        text = text.replace(key, value)
    (DATA / "PROVENANCE.md").write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="only measure what is in data/")
    args = parser.parse_args()
    DATA.mkdir(exist_ok=True)
    if not args.measure:
        with tempfile.TemporaryDirectory() as scratch:
            cache = pathlib.Path(scratch) / "images.npz"
            write_images(cache)
            train_networks(cache)
    result = measure()
    if not args.measure:
        write_provenance(result)


if __name__ == "__main__":
    main()
