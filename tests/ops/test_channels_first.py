"""Layers give the same whether channels come last or first, and so do their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headrace.graph as hr

_rng = np.random.default_rng(14)
X1 = _rng.normal(size=(2, 9, 3)).astype(np.float32)
X2 = _rng.normal(size=(2, 8, 7, 3)).astype(np.float32)
X3 = _rng.normal(size=(2, 5, 6, 4, 3)).astype(np.float32)


def _waves(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
    return hr.constant(np.sin(np.arange(np.prod(shape))).reshape(shape).astype(np.float32))


_K = {"kernel_initializer": _waves}
_S = {"depthwise_initializer": _waves, "pointwise_initializer": _waves}
LAYERS = {
    "conv1d": (X1, (4, 3), _K),
    "conv2d": (X2, (4, 3, 2, "same"), _K),
    "conv3d": (X3, (4, 3), _K),
    "conv2d_transpose": (X2, (4, 3, 2), _K),
    "conv3d_transpose": (X3, (4, 3, 2), _K),
    "separable_conv1d": (X1, (4, 3, 2), _S),
    "separable_conv2d": (X2, (4, 3), _S),
    "max_pooling1d": (X1, (2, 2), {}),
    "max_pooling2d": (X2, (2, 2, "same"), {}),
    "max_pooling3d": (X3, (2, 2), {}),
    "average_pooling1d": (X1, (2, 2), {}),
    "average_pooling2d": (X2, (2, 2, "same"), {}),
    "average_pooling3d": (X3, (2, 2), {}),
    "batch_normalization": (X2, (), {"training": True, "gamma_initializer": _waves}),
    "batch_normalization in parts": (X1, (), {"training": True, "gamma_initializer": _waves}),
}


def _run(name: str, first: bool) -> tuple[np.ndarray, list[np.ndarray]]:
    """The output, channels last, and the gradients of the variables."""
    x, args, options = LAYERS[name]
    kind = name.split()[0]
    if kind == "batch_normalization":
        options = {**options, "axis": 1 if first else -1}
    else:
        options = {**options, "data_format": "channels_first" if first else "channels_last"}
    with hr.Graph().as_default(), hr.Session() as session:
        value = np.ascontiguousarray(np.moveaxis(x, -1, 1)) if first else x
        y = getattr(hr.layers, kind)(hr.constant(value), *args, **options)
        loss = hr.reduce_sum(hr.sin(y))
        variables = hr.trainable_variables()
        grads = hr.gradients(loss, variables) if variables else []
        session.run(hr.global_variables_initializer())
        result, slopes = session.run([y, grads])
        assert y.shape.as_list() == list(result.shape)
    return (np.moveaxis(result, 1, -1) if first else result), slopes


@pytest.mark.parametrize("name", LAYERS)
def test_the_order_of_dimensions_changes_nothing(name: str) -> None:
    last, first = _run(name, False), _run(name, True)
    np.testing.assert_allclose(first[0], last[0], rtol=1e-5, atol=1e-5)
    for mine, other in zip(first[1], last[1], strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-3, atol=2e-3)
