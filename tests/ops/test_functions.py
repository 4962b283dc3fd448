"""The public functions, run: they give the shape that they said, and what TensorFlow gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from functions import ALL

import headrace.graph as hr

_TOLERANCE = {"float16": 5e-3, "bfloat16": 3e-2, "float32": 2e-4, "complex64": 2e-4}


def _run(m: Any, program: Any) -> list[tuple[Any, str, Any]]:
    """The static shape, the type and the value of each output."""
    with m.Graph().as_default(), m.Session() as session:
        result = [m.convert_to_tensor(t) for t in program(m)]
        session.run([m.global_variables_initializer(), m.local_variables_initializer()])
        session.run(m.get_collection("before"))  # what a program wants to have run already
        values = session.run(result)
        static = [(t.get_shape(), t.dtype.base_dtype.name) for t in result]
        return [
            (*shape_and_dtype, value) for shape_and_dtype, value in zip(static, values, strict=True)
        ]


@pytest.mark.parametrize("name", ALL)
def test_a_function_has_its_static_shape(name: str) -> None:
    for shape, dtype, value in _run(hr, ALL[name]):
        assert shape.is_compatible_with(np.shape(value))
        assert hr.as_dtype(dtype) == hr.as_dtype(np.asarray(value).dtype)


@pytest.fixture(scope="module")
def tf() -> Any:
    import os

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
    tensorflow = pytest.importorskip("tensorflow")
    tensorflow.compat.v1.disable_v2_behavior()
    return tensorflow.compat.v1


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ALL)
def test_a_function_gives_what_tensorflow_gives(name: str, tf: Any) -> None:
    if name.startswith(("layers", "recurrent")):
        pytest.importorskip("tf_keras")  # TensorFlow has its layers from there
    theirs, ours = _run(tf, ALL[name]), _run(hr, ALL[name])
    assert len(ours) == len(theirs)
    for number, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        assert (number, mine[1]) == (number, other[1])
        if mine[0].is_fully_defined() != other[0].is_fully_defined():
            assert mine[0].is_fully_defined(), f"{number}: {mine[0]}, theirs {other[0]}"
        _same(mine[2], other[2], mine[1])


def _same(mine: Any, other: Any, dtype: str) -> None:
    mine, other = np.asarray(mine), np.asarray(other)
    assert mine.shape == other.shape
    if mine.dtype.kind not in "fcV":
        assert np.array_equal(mine, other)
        return
    bound = _TOLERANCE.get(dtype, 1e-9)
    wide = np.complex128 if mine.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(mine.astype(wide), other.astype(wide), rtol=bound, atol=bound)
