"""Abort and ImmutableConst, which compute nothing from inputs."""

from __future__ import annotations

import numpy as np
import pytest

import headrace.graph as hr

raw = hr.raw_ops


def _run(node):
    with hr.Session() as session:
        return session.run(node)


@pytest.fixture(autouse=True)
def graph():
    with hr.Graph().as_default():
        yield


@pytest.mark.parametrize("quietly", [False, True])
def test_abort_fails_the_step(quietly: bool) -> None:
    with pytest.raises(hr.errors.AbortedError, match="not today"):
        _run(raw.Abort(error_msg="not today", exit_without_error=quietly))
    with pytest.raises(hr.errors.AbortedError, match="intentional failure"):
        _run(raw.Abort())


def test_an_abort_in_a_branch_that_is_not_taken() -> None:
    def fail():
        with hr.control_dependencies([raw.Abort(error_msg="taken")]):
            return hr.constant(1)

    predicate = hr.placeholder(hr.bool, [])
    value = hr.cond(predicate, fail, lambda: hr.constant(2))
    with hr.Session() as session:
        assert session.run(value, {predicate: False}) == 2
        with pytest.raises(hr.errors.AbortedError, match="taken"):
            session.run(value, {predicate: True})


@pytest.mark.parametrize("dtype", ["float32", "int8", "complex128", "bool"])
def test_a_region_is_read(tmp_path, dtype: str) -> None:
    values = np.arange(6).reshape(2, 3).astype(dtype)
    path = tmp_path / "region"
    path.write_bytes(values.tobytes() + b"more")

    def region(shape):
        return raw.ImmutableConst(
            dtype=hr.as_dtype(dtype), shape=shape, memory_region_name=str(path)
        )

    read = _run(region([2, 3]))
    assert read.dtype == values.dtype
    np.testing.assert_array_equal(read, values)
    assert _run(region(hr.TensorShape(None))) == values[0, 0]
    assert _run(region([0, 3])).shape == (0, 3)


def test_invalid_regions(tmp_path) -> None:
    path = tmp_path / "region"
    path.write_bytes(bytes(24))

    def region(shape, name=path, dtype=hr.float32):
        return raw.ImmutableConst(dtype=dtype, shape=shape, memory_region_name=str(name))

    with pytest.raises(hr.errors.InternalError, match=r"wrong length \(24\) when allocating 28"):
        _run(region([7]))
    with pytest.raises(hr.errors.NotFoundError, match="No such file"):
        _run(region([2], tmp_path / "none"))
    with pytest.raises(hr.errors.InvalidArgumentError, match="no CPU kernel"):
        _run(region([1], dtype=hr.string))
    with pytest.raises(hr.errors.InvalidArgumentError, match="not fully defined"):
        _run(region([None]))
