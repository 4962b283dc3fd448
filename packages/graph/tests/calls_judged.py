"""Calls that TensorFlow 1.15 rejects or accepts when the graph is built; `m` is the library.

REJECTED maps a call to the class of its error, and to words that the message contains.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def _variable(m: Any, **options: Any) -> Any:
    return m.get_variable("v", [3], **options)


def _descent(m: Any) -> Any:
    return m.train.GradientDescentOptimizer(0.1)


def _in_scope(m: Any, **options: Any) -> Any:
    with m.variable_scope("s", **options):
        return m.get_variable("v", [1])


def _mask(m: Any, mask: Any) -> Any:
    return m.boolean_mask(m.zeros([2, 3]), mask)


REJECTED: dict[str, tuple[Any, type[Exception], str]] = {
    "the axis of one value": (
        lambda m: m.concat(0, [m.zeros([2]), m.zeros([2])]), ValueError, ""),
    "a text as axis of one value": (lambda m: m.concat([m.zeros([2])], "x"), TypeError, "int32"),
    "None as a value": (lambda m: m.constant(None), ValueError, "None values not supported."),
    "None as an input": (
        lambda m: m.square(None), ValueError, "to a tensor and failed. Error: None values not"),
    "weights=None": (
        lambda m: m.losses.absolute_difference(m.zeros([2]), m.zeros([2]), weights=None),
        ValueError, "None"),
    "stack axis": (
        lambda m: m.stack([m.zeros([2])], axis=3), ValueError, "axis = 3 not in [-2, 2)"),
    "unstack axis": (
        lambda m: m.unstack(m.zeros([2, 3]), axis=5), ValueError, "not in [-2, 2)"),
    "reuse": (lambda m: _in_scope(m, reuse="yes"), ValueError, "must be True or False or None"),
    "a partitioner without a sequence": (
        lambda m: _variable(m, partitioner=lambda **_: 1), ValueError, "return a sequence"),
    "an update of another shape": (
        lambda m: m.Variable([1.0], use_resource=True).assign_add([1.0, 2.0]), ValueError, ""),
    "a gradient of another shape": (
        lambda m: _descent(m).apply_gradients([(m.zeros([4]), _variable(m))]), ValueError, ""),
    "a gradient that is no tensor": (
        lambda m: _descent(m).apply_gradients([(object(), _variable(m))]),
        TypeError, "Gradient must be convertible to a Tensor"),
    "an aggregation method": (
        lambda m: m.gradients(_variable(m) * 2.0, _variable(m), aggregation_method=17)
        if not m.trainable_variables() else None, ValueError, ""),
    "grad_ys of another dtype": (
        lambda m: m.gradients(m.square(m.constant(1.0)), [], grad_ys=m.constant("a")),
        TypeError, ""),
    "no addends": (lambda m: m.add_n([]), ValueError, "at least one Tensor"),
    "addends of two dtypes": (
        lambda m: m.accumulate_n([m.constant(1.0), m.constant(1)]), ValueError, "same dtype"),
    "negative axes of tensordot": (
        lambda m: m.tensordot(m.zeros([2, 3]), m.zeros([4, 4]), -1), ValueError, "at least 0"),
    "axes of two lengths": (
        lambda m: m.tensordot(m.zeros([2, 3]), m.zeros([4, 4]), [[0, 1], [0]]), ValueError,
        "Different number of contraction axes"),
    "batch_dims of gather_nd": (
        lambda m: m.gather_nd(m.zeros([2, 3]), m.zeros([2, 2], m.int32), batch_dims=3),
        ValueError, "must be less than"),
    "strides": (
        lambda m: m.nn.conv2d(m.zeros([1, 4, 4, 3]), m.zeros([2, 2, 3, 5]), [1, 1, 1], "SAME"),
        ValueError, "strides should be of length 1, 2 or 4"),
    "ksize": (
        lambda m: m.nn.max_pool(m.zeros([1, 4, 4, 1]), [1, 2, 2], [1, 2, 2, 1], "SAME"),
        ValueError, "ksize should be of length 1, 2 or 4"),
    "output_shape": (
        lambda m: m.nn.conv2d_transpose(
            m.zeros([1, 2, 2, 5]), m.zeros([3, 3, 4, 5]), [1, 4, 4], [1, 2, 2, 1]),
        ValueError, ""),
    "a product of two dtypes": (
        lambda m: m.matmul(m.zeros([2, 3]), m.zeros([3, 2], m.float64)), TypeError,
        "that does not match type float32 of argument 'a'"),
    "a mask of another shape": (lambda m: _mask(m, [True]), ValueError, "are incompatible"),
    "a mask without rank": (
        lambda m: _mask(m, m.placeholder(m.bool)), ValueError, "Number of mask dimensions"),
    "a scalar mask": (lambda m: m.zeros([2])[True], ValueError, "mask cannot be scalar"),
    "branches of two dtypes": (
        lambda m: m.cond(m.constant(True), lambda: 1, lambda: 2.0), ValueError, "same type"),
    "a predicate of case": (lambda m: m.case([(True, lambda: 1)]), TypeError, "must be a Tensor"),
    "an inferred attribute": (
        lambda m: m.raw_ops.Fill(dims=[2], value=1.0, index_type=m.int32), TypeError,
        "got an unexpected keyword argument 'index_type'"),
    "layers: an unknown activation": (
        lambda m: m.layers.dense(m.zeros([2, 3]), 3, activation="nope"), ValueError,
        "Unknown activation function:nope"),
    "layers: an unknown initializer": (
        lambda m: m.layers.dense(m.zeros([2, 3]), 3, kernel_initializer="nope"), ValueError,
        "Unknown initializer:nope"),
    "layers: a regularizer that is a number": (
        lambda m: m.layers.dense(m.zeros([2, 3]), 3, kernel_regularizer=5), ValueError,
        "Could not interpret regularizer identifier"),
    "layers: a layer of integers": (
        lambda m: m.layers.dense(m.zeros([2, 3], m.int32), 3), TypeError, "non-floating point"),
    "a tensor as dtype": (lambda m: m.cast(m.zeros([1]), m.zeros([1])), TypeError, ""),
    "one tensor to clip": (
        lambda m: m.clip_by_global_norm(m.zeros([2]), 1.0), TypeError, "should be a sequence"),
    "py_func of a number": (
        lambda m: m.py_func(5, [1], m.int32), ValueError, "Expected func to be callable"),
    "boundaries of another dtype": (
        lambda m: m.train.piecewise_constant(m.constant(1), [1.5], [0.1, 0.2]), ValueError, ""),
    "values of two dtypes": (
        lambda m: m.train.piecewise_constant(m.constant(1), [1], [0.1, 2]), ValueError, ""),
    "random texts": (
        lambda m: m.random_uniform([2], dtype=m.string), ValueError, "Invalid dtype"),
    "keep_prob as text": (lambda m: m.nn.dropout(m.zeros([4]), "a"), ValueError, ""),
    "a map of gradients": (
        lambda m: m.Graph().gradient_override_map({"a": 5}).__enter__(), TypeError,
        "strings to strings"),
}  # fmt: skip

# What TensorFlow 1.15 builds and 2.x rejects: in Python, bools are numbers.
ACCEPTED_BY_1 = {
    "a bool as a float": lambda m: m.constant(True, m.float32),
    "a bool in a list": lambda m: m.constant([True, 2], m.int32),
    "a product with a bool": lambda m: m.zeros([2]) * True,
}

# Results by name: dtype and shape of the tensors, "ok" where only the call counts.
ACCEPTED: dict[str, Any] = {
    "tensordot of unknown ranks": lambda m: m.tensordot(
        m.placeholder(m.float32), m.placeholder(m.float32), 1),
    "tensordot with axes as a tensor": lambda m: m.tensordot(
        m.zeros([2, 3]), m.zeros([3, 4]), m.placeholder(m.int32, [2, 1])),
    "tensordot of a known shape": lambda m: m.tensordot(
        m.placeholder(m.float32, [None, 5, 3]), m.zeros([3, 4]), [[2], [0]]),
    "gather_nd with batch_dims": lambda m: m.gather_nd(
        m.placeholder(m.float32, [None, 3, 4]), m.placeholder(m.int32, [None, 2, 1]),
        batch_dims=1),
    "softmax_cross_entropy of unknown ranks": lambda m: m.nn.softmax_cross_entropy_with_logits(
        labels=m.placeholder(m.float32), logits=m.placeholder(m.float32)),
    "softmax_cross_entropy of two ranks": lambda m: m.nn.softmax_cross_entropy_with_logits(
        labels=m.zeros([2, 1, 3]), logits=m.zeros([2, 3])),
    "softmax_cross_entropy of integers": lambda m: m.nn.softmax_cross_entropy_with_logits(
        labels=m.zeros([2, 3], m.int32), logits=m.zeros([2, 3])),
    "classes along axis 1": lambda m: m.nn.softmax_cross_entropy_with_logits_v2(
        labels=m.zeros([2, 3, 4]), logits=m.zeros([2, 3, 4]), axis=1),
    "fused_batch_norm": lambda m: m.nn.fused_batch_norm(
        m.placeholder(m.float32), m.zeros([3]), m.zeros([3]))[0],
    "conv2d_transpose": lambda m: m.nn.conv2d_transpose(
        m.placeholder(m.float32), m.zeros([3, 3, 4, 5]), m.placeholder(m.int32), [1, 2, 2, 1]),
    "stack of numbers": lambda m: m.stack([1, 2.0]),
    "stack of one value": lambda m: m.stack(5),
    "the sparse shape as a tensor": lambda m: m.sparse_placeholder(
        m.float32, shape=m.constant([2, 3], m.int64)).values,
    "grad_ys that broadcasts": lambda m: _of_square(m, grad_ys=1.0),
    "gradients of an integer": lambda m: m.gradients(m.constant(1) * 2, [m.constant(1)])[0],
    "variables of a dict": lambda m: _descent(m).minimize(
        m.reduce_sum(_variable(m)), var_list=dict(enumerate(m.trainable_variables())).values())
        and None,
    "group of a view": lambda m: m.group({"a": m.constant(1.0)}.values()) and None,
    "branches of one element": lambda m: m.cond(m.constant(True), lambda: [1], lambda: 2),
    "a size that is a whole float": lambda m: m.zeros([2.0, 3]),
    "layers: an initializer by name": lambda m: m.layers.dense(
        m.zeros([2, 3]), 3, kernel_initializer="he_normal", kernel_regularizer="l2"),
    "a window of floats": lambda m: m.nn.max_pool(
        m.zeros([1, 4, 4, 1]), [1, 2.0, 2, 1], [1, 2, 2, 1], "SAME"),
    "flip of an unknown rank": lambda m: [m.image.flip_left_right(m.placeholder(m.float32))]
    and None,
    "a resource of unknown shape": lambda m: m.Variable(
        m.placeholder(m.float32), use_resource=True).value(),
    "gather_nd of a resource": lambda m: m.gather_nd(
        m.Variable(np.ones([4, 3], np.float32), use_resource=True), [[0]]),
}  # fmt: skip


def _of_square(m: Any, **options: Any) -> Any:
    x = m.placeholder(m.float32, [3])
    return m.gradients(m.square(x), x, **options)[0]
