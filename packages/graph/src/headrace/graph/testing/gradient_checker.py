"""hr.test.compute_gradient: comparison of gradients with finite differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.graph.autodiff.gradients import gradients
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.framework.default_session import get_default_session
from headrace.graph.ops.arrays.placeholders import placeholder
from headrace.graph.typing.aliases import FeedDict, ShapeLike, TensorLike

if TYPE_CHECKING:
    from headrace.graph.framework.operation import Operation, Tensor


def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Any,
    y_shape: Any,
    x_init_value: TensorLike | None = None,
    delta: float = 1e-3,
    init_targets: Sequence[Operation] | None = None,
    extra_feed_dict: FeedDict | None = None,
) -> Any:
    """Computes the Jacobian of y with respect to x by gradients and by finite differences.

    Args:
      x: tensor or list of tensors.
      x_shape: shape of x, or list of shapes.
      y: tensor.
      y_shape: shape of y.
      x_init_value: point at which to differentiate; random if None.
      delta: half of the step of the differences.
      init_targets: operations to run first.
      extra_feed_dict: additional feeds.
    Returns: two arrays [size of x, size of y], in which real and imaginary parts are separate
      elements; a list of such pairs for a list of xs.
    Raises: ValueError without a default session, or if y does not depend on x.
    """
    session = get_default_session()
    if session is None:
        raise ValueError("compute_gradient needs a default session: with sess.as_default()")
    if init_targets is not None:
        session.run(init_targets if isinstance(init_targets, (list, tuple)) else [init_targets])
    xs, shapes = (list(x), list(x_shape)) if isinstance(x, list) else ([x], [x_shape])
    starts = x_init_value if isinstance(x_init_value, list) else [x_init_value] * len(xs)
    rng = np.random.default_rng(12345)
    values = [_start(t, s, v, rng) for t, s, v in zip(xs, shapes, starts, strict=True)]
    seed = placeholder(y.dtype.base_dtype, tuple(y_shape))
    feeds = dict(zip(xs, values, strict=True))
    feeds.update(extra_feed_dict or {})
    found = gradients(y, xs, grad_ys=seed)
    pairs = []
    for tensor, grad in zip(xs, found, strict=True):
        if grad is None:
            raise ValueError(f"y does not depend on x: {tensor.name} has no gradient")
        grad = convert_to_tensor(grad)
        theoretical = _by_gradients(session, seed, tuple(y_shape), tensor, grad, feeds)
        pairs.append((theoretical, _by_differences(session, y, tensor, feeds, delta)))
    return pairs if isinstance(x, list) else pairs[0]


def _start(tensor: Any, shape: Any, value: Any, rng: np.random.Generator) -> np.ndarray:
    dtype = tensor.dtype.base_dtype.as_numpy_dtype
    if value is not None:
        return np.array(value, dtype).reshape(tuple(shape))
    result = rng.random(tuple(shape))
    if np.dtype(dtype).kind == "c":
        result = result + 1j * rng.random(tuple(shape))
    return np.asarray(result, dtype)


def _numbers(array: np.ndarray) -> np.ndarray:
    """Returns a flat view of the real and imaginary parts of an array."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def _by_gradients(
    session: Any, seed: Any, y_shape: tuple[int, ...], x: Any, grad: Any, feeds: dict[Any, Any]
) -> np.ndarray:
    """Computes the Jacobian by gradients, one column per element of y."""
    start = np.zeros(y_shape, seed.dtype.as_numpy_dtype)
    numbers = _numbers(start)
    result = np.zeros((_numbers(feeds[x]).size, numbers.size))
    for column in range(numbers.size):
        one = np.zeros_like(numbers)
        one[column] = 1
        value = session.run(grad, {**feeds, seed: one.view(start.dtype).reshape(y_shape)})
        result[:, column] = _numbers(np.asarray(value))
    return result


def _by_differences(
    session: Any, y: Any, x: Any, feeds: dict[Any, Any], delta: float
) -> np.ndarray:
    """Computes the Jacobian by differences, one row per element of x."""
    rows = []
    for row in range(_numbers(feeds[x]).size):
        ends = []
        for sign in (1, -1):
            moved = np.array(feeds[x])
            numbers = _numbers(moved).copy()
            numbers[row] += sign * delta
            moved = numbers.view(moved.dtype).reshape(moved.shape)
            ends.append(_numbers(np.asarray(session.run(y, {**feeds, x: moved}))).astype(float))
        rows.append((ends[0] - ends[1]) / (2 * delta))
    size = _numbers(np.asarray(session.run(y, feeds))).size
    return np.array(rows).reshape(len(rows), size)


def compute_gradient_error(
    x: Tensor | Sequence[Tensor],
    x_shape: ShapeLike,
    y: Tensor | Sequence[Tensor],
    y_shape: ShapeLike,
    x_init_value: TensorLike | None = None,
    delta: float = 1e-3,
    init_targets: Sequence[Operation] | None = None,
    extra_feed_dict: FeedDict | None = None,
) -> float:
    """Returns the maximum difference between the two Jacobians of compute_gradient."""
    result = compute_gradient(
        x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict
    )
    pairs = result if isinstance(result, list) else [result]
    return max(float(np.abs(a - b).max(initial=0)) for a, b in pairs)
