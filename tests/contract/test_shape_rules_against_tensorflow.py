"""The shape rules agree with TensorFlow's shape inference."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from shape_rule_cases import Case, cases
from test_shape_rules_agree import Query, fits

from headrace.formats import op_catalogue
from headrace.formats.op_signature import NO_DEFAULT, TYPE_NAMES
from headrace.graph.framework.op_registry import shape_function

pytestmark = pytest.mark.peer

# One op per rule that can be compared; SplitV with invalid sizes aborts TensorFlow's process.
OPS = {
    "arg_reduce": "ArgMax", "batch_matmul": "BatchMatMulV2", "batch_to_space_nd": "BatchToSpaceND",
    "bias_add": "BiasAdd", "bias_add_grad": "BiasAddGrad", "bincount": "Bincount",
    "bitcast": "Bitcast", "broadcast": "AddV2", "broadcast_args": "BroadcastArgs",
    "broadcast_to": "BroadcastTo", "concat": "Concat", "concat_v2": "ConcatV2",
    "conv2d": "Conv2D", "conv3d": "Conv3D", "crop_and_resize": "CropAndResize",
    "depth_to_space": "DepthToSpace",
    "depthwise_conv2d": "DepthwiseConv2dNative", "determinant": "MatrixDeterminant",
    "diag": "Diag", "diag_part": "DiagPart", "dilation2d": "Dilation2D",
    "dynamic_partition": "DynamicPartition", "dynamic_stitch": "DynamicStitch",
    "einsum": "Einsum", "ensure_shape": "EnsureShape", "expand_dims": "ExpandDims",
    "extract_image_patches": "ExtractImagePatches",
    "fused_batch_norm": "FusedBatchNorm", "gather_nd": "GatherNd", "gather_v2": "GatherV2",
    "histogram_fixed_width": "HistogramFixedWidth", "in_top_k": "InTopKV2", "irfft": "IRFFT2D",
    "linspace": "LinSpace", "list_diff": "ListDiff", "lu": "Lu", "matmul": "MatMul",
    "matrix_diag": "MatrixDiag", "matrix_diag_part": "MatrixDiagPart",
    "matrix_solve": "MatrixTriangularSolve", "matrix_solve_ls": "MatrixSolveLs", "merge": "AddN",
    "multinomial": "Multinomial", "nth_element": "NthElement", "one_hot": "OneHot",
    "pack": "Pack", "pad": "Pad", "pool2d": "MaxPool", "pool3d": "MaxPool3D", "qr": "Qr",
    "random_gamma": "RandomGamma", "range": "Range", "reduce": "Sum",
    "reshape": "Reshape", "resize": "ResizeBilinear", "rfft": "RFFT2D", "segment": "SegmentSum",
    "select": "Select", "self_adjoint_eig_v2": "SelfAdjointEigV2", "shape": "Shape",
    "shape_from_input_0": "RandomUniform", "slice": "Slice", "softmax": "Softmax",
    "softmax_cross_entropy": "SoftmaxCrossEntropyWithLogits",
    "space_to_batch_nd": "SpaceToBatchND", "space_to_depth": "SpaceToDepth",
    "sparse_segment": "SparseSegmentSum",
    "sparse_segment_counted": "SparseSegmentSumWithNumSegments",
    "sparse_softmax_cross_entropy": "SparseSoftmaxCrossEntropyWithLogits", "split": "Split",
    "square": "Cholesky", "squeeze": "Squeeze",
    "strided_slice": "StridedSlice", "svd": "Svd", "tensor_scatter": "TensorScatterAdd",
    "tile": "Tile", "top_k_v2": "TopKV2", "transpose": "Transpose", "unchanged": "Relu",
    "unique": "UniqueWithCountsV2", "unpack": "Unpack", "unsorted_segment": "UnsortedSegmentSum",
    "vector_unchanged": "InvertPermutation", "where": "Where",
}  # fmt: skip
# Rules that reject what TensorFlow rejects in the kernel: an index out of range, a stride of 0.
TOLD_EARLIER = {
    "arg_reduce", "broadcast_to", "conv2d", "conv3d", "depthwise_conv2d", "dilation2d",
    "extract_image_patches", "gather_v2", "pool2d", "pool3d", "random_gamma", "range", "reduce",
    "reshape", "segment", "shape_from_input_0", "split", "strided_slice", "tensor_scatter",
    "transpose", "unique",
}  # fmt: skip


def tensorflow() -> Any:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    import tensorflow as tf

    return tf


def dtype_of(signature: Any, arg: Any, value: np.ndarray | None) -> str:
    """Returns a dtype that the argument accepts, preferably that of the value."""
    if not arg.type_attr:
        return TYPE_NAMES[arg.dtype]
    attr = signature.attr(arg.type_attr)
    names = {"int32": "int32", "int64": "int64", "float32": "float", "float64": "double"}
    if value is not None:
        return names[value.dtype.name]
    allowed = [TYPE_NAMES[t] for t in attr.allowed]
    for name in ("float", "complex64", "int32"):
        if not allowed or name in allowed:
            return name
    return allowed[0]


def ask_tensorflow(op: str, case: Case) -> Any:
    """Returns the shapes that TensorFlow infers, or its error message."""
    tf = tensorflow()
    from tensorflow.python.framework import op_def_library

    signature = op_catalogue.signature(op)
    kwargs: dict[str, Any] = {}
    at = 0
    chosen: dict[str, str] = {}
    # Values determine type attributes shared by several arguments.
    with tf.Graph().as_default():
        counts = []
        fixed = sum(1 for arg in signature.inputs if not arg.number_attr)
        lists = [arg for arg in signature.inputs if arg.number_attr]
        for arg in signature.inputs:
            n = (len(case.inputs) - fixed) // len(lists) if arg.number_attr else 1
            counts.append(n)
        for arg, n in zip(signature.inputs, counts, strict=True):
            for i in range(at, at + n):
                if arg.type_attr and i in case.values:
                    chosen.setdefault(arg.type_attr, dtype_of(signature, arg, case.values[i]))
            at += n
        at = 0
        for arg, n in zip(signature.inputs, counts, strict=True):
            tensors = []
            for i in range(at, at + n):
                value = case.values.get(i)
                name = chosen.get(arg.type_attr) or dtype_of(signature, arg, value)
                if op == "Bitcast":
                    name = TYPE_NAMES[case.attrs["T"]]
                dtype = tf.as_dtype({"float": "float32", "double": "float64"}.get(name, name))
                if value is not None:
                    tensors.append(tf.constant(value.astype(dtype.as_numpy_dtype)))
                else:
                    tensors.append(tf.compat.v1.placeholder(dtype, case.inputs[i]))
            at += n
            kwargs[arg.name] = tensors if arg.number_attr else tensors[0]
        for attr in signature.attrs:
            if attr.default is not NO_DEFAULT and attr.kind in ("bool", "int", "float", "string"):
                kwargs[attr.name] = attr.default
            if attr.kind.startswith("list(int") and attr.default is not NO_DEFAULT:
                kwargs[attr.name] = list(attr.default)
            if attr.name in case.attrs and attr.name != "T":
                value = case.attrs[attr.name]
                kwargs[attr.name] = list(value) if isinstance(value, tuple) else value
                if attr.kind == "type":
                    kwargs[attr.name] = tf.as_dtype(value)
        defaults = {"num_split": case.n_outputs, "num": case.n_outputs, "N": None}
        defaults |= {"num_partitions": case.n_outputs, "dtype": tf.float32}
        for name, value in defaults.items():
            if value is not None and any(a.name == name for a in signature.attrs):
                if op != "HistogramFixedWidth":
                    kwargs.setdefault(name, value)
        try:
            result = op_def_library.apply_op(op, **kwargs)
        except (ValueError, TypeError) as error:
            return str(error)
        node = tf.compat.v1.get_default_graph().get_operations()[-1]
        del result
        return [
            None if out.shape.rank is None else tuple(out.shape.as_list()) for out in node.outputs
        ]


@pytest.mark.parametrize("name", sorted(OPS))
def test_rules_agree_with_tensorflow(name):
    op, compared = OPS[name], []

    @settings(
        max_examples=40, deadline=None, derandomize=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(cases(name))
    def agree(case):
        n = len(op_catalogue.signature(op).inputs)
        if not any(arg.number_attr for arg in op_catalogue.signature(op).inputs):
            case.inputs = [*case.inputs, *[()] * n][:n]
        if name == "conv3d" and case.attrs["data_format"] == "NCDHW":
            case.attrs["dilations"] = (1, 1, 1, 1, 1)  # TensorFlow ignores them here
        if case.attrs.get("batch_dims", 0) < 0 and case.missing:
            return  # TensorFlow computes a wrong rank here
        theirs = ask_tensorflow(op, case)
        if not isinstance(theirs, str):
            case.n_outputs = len(theirs)
        try:
            ours = shape_function(name)(Query(case))
        except ValueError as error:
            ours = str(error)
        if isinstance(ours, str):
            # Cases that only TensorFlow rejects are skipped: it does not accept [1] for a scalar.
            assert isinstance(theirs, str) or case.missing or name in TOLD_EARLIER, (
                f"{ours}, but {theirs}"
            )
        elif not isinstance(theirs, str):
            compared.append(case)
            assert len(ours) == len(theirs) and all(map(fits, ours, theirs)), (ours, theirs)

    agree()
    assert compared
