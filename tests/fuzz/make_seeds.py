"""Writes the seeds of corpus/load_onnx, small models that reach most of the reader, and those of
corpus/read_tensors whose extents are up to 2^62.

Run with Debian's python3-onnx: python3 make_seeds.py. The models are in the repository; this is
how they were made.
"""
import io
import pathlib
import zipfile

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(__file__).parent / "corpus" / "load_onnx"
rng = np.random.default_rng(1)


def tensor(name, *shape, dtype=np.float32):
    values = rng.normal(size=shape) if dtype == np.float32 else rng.integers(-9, 9, size=shape)
    return numpy_helper.from_array(np.asarray(values, dtype), name)


def save(name, nodes, weights, opset, shape=("N", 3, 6, 6), listed=False, out=("y",)):
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    if listed:
        inputs += [helper.make_tensor_value_info(w.name, w.data_type, w.dims) for w in weights]
    outputs = [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in out]
    graph = helper.make_graph(nodes, name, inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.metadata_props.add(key="note", value="seed")
    (FOLDER / f"{name}.onnx").write_bytes(model.SerializeToString())


node = helper.make_node
save("conv_bn_relu", [
    node("Conv", ["x", "w", "b"], ["c"], name="conv", pads=[1, 1, 1, 1]),
    node("BatchNormalization", ["c", "g", "h", "m", "v"], ["n"]),
    node("Clip", ["n"], ["y"], min=0.0, max=6.0),
], [tensor("w", 4, 3, 3, 3), tensor("b", 4), tensor("g", 4), tensor("h", 4), tensor("m", 4),
    numpy_helper.from_array(np.ones(4, np.float32), "v")], 9, listed=True)
save("shapes", [
    node("Shape", ["x"], ["s"]),
    node("Gather", ["s", "zero"], ["n"]),
    node("Unsqueeze", ["n"], ["n1"], axes=[0]),
    node("Concat", ["n1", "rest"], ["t"], axis=0),
    node("Reshape", ["x", "t"], ["f"]),
    node("Gemm", ["f", "w", "b"], ["y"], transB=1, alpha=0.5),
], [tensor("w", 5, 108), tensor("b", 5), numpy_helper.from_array(np.int64(0), "zero"),
    numpy_helper.from_array(np.array([-1], np.int64), "rest")], 11)
save("qdq", [
    node("QuantizeLinear", ["x", "s", "z"], ["q"]),
    node("DequantizeLinear", ["q", "s", "z"], ["d"]),
    node("DequantizeLinear", ["w", "ws"], ["wd"], axis=0),
    node("Conv", ["d", "wd"], ["c"], group=3),
    node("Resize", ["c", "", "r"], ["y"], mode="linear"),
], [numpy_helper.from_array(np.float32(0.1), "s"), numpy_helper.from_array(np.uint8(3), "z"),
    tensor("w", 3, 1, 1, 1, dtype=np.int8), numpy_helper.from_array(np.ones(3, np.float32), "ws"),
    numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "r")], 13)

external = tensor("w", 4, 3, 1, 1)
external.ClearField("raw_data")
external.data_location = TensorProto.EXTERNAL
external.external_data.add(key="location", value="../outside.bin")
save("external", [node("Conv", ["x", "w"], ["y"])], [external], 17)

# Invalid models: private operators and attributes, more inputs or outputs than the operator has, a
# scale of 0.
save("private_domain", [node("QLookup", ["x"], ["y"], domain="qtool.lowered", table=b"0" * 4096)],
     [], 17)
save("private_attribute", [node("Relu", ["x"], ["y"], **{"qtool.integer": 1})], [], 17)
save("conv_of_four_inputs", [node("Conv", ["x", "w", "b", "r"], ["y"])],
     [tensor("w", 4, 3, 1, 1), tensor("b", 4), tensor("r", 1)], 17)
save("shape_of_two_outputs", [
    node("Shape", ["x"], ["s", "t"]),
    node("ConstantOfShape", ["s"], ["y"]),
], [], 17)
save("scale_of_zero", [
    node("QuantizeLinear", ["x", "s", "z"], ["q"]),
    node("DequantizeLinear", ["q", "s", "z"], ["y"]),
], [numpy_helper.from_array(np.float32(0), "s"), numpy_helper.from_array(np.uint8(3), "z")], 13)

# Arrays of more elements than there are, or than there can be. The first byte says the kind of the
# file, the second the input that takes it (read_tensors_fuzz.cpp).
ARRAYS = FOLDER.parent / "read_tensors"
KINDS = {"npy": 0, "npz": 1, "pb": 2}


def save_array(name, kind, spec, content):
    (ARRAYS / name).write_bytes(bytes([KINDS[kind], spec]) + content)


def npy(*extents):
    shape = "".join(f"{extent}, " for extent in extents)
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape}), }}"
    return b"\x93NUMPY\x01\0" + bytes([118, 0]) + header.ljust(117).encode() + b"\n" + bytes(24)


def npz(content):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(zipfile.ZipInfo("x.npy"), content)
    return packed.getvalue()


def proto(*extents):
    return TensorProto(name="x", data_type=TensorProto.FLOAT, dims=extents, raw_data=bytes(24)).SerializeToString()


for name, extents in {"large": (2, 1 << 62), "beyond": (1 << 62, 1 << 62), "none": (1 << 62, 0)}.items():
    save_array(f"npy_{name}", "npy", 28, npy(*extents))
    save_array(f"npz_{name}", "npz", 28, npz(npy(*extents)))
    save_array(f"proto_{name}", "pb", 28, proto(*extents))
