from __future__ import annotations

import pathlib
from importlib.metadata import version

import pytest

import headrace.graph as hr


def test_text_and_bytes_convert():
    assert hr.compat.as_bytes("ä") == "ä".encode() and hr.compat.as_text(b"a") == "a"
    assert hr.compat.as_str_any(3) == "3" and hr.compat.as_str_any(b"a") == "a"
    assert hr.compat.path_to_str(pathlib.Path("a")) == "a"
    with pytest.raises(TypeError, match="Expected binary or unicode string, got 3"):
        hr.compat.as_bytes(3)


def test_specs_test_compatibility():
    spec = hr.TensorSpec([None, 2], hr.float32, "x")
    assert spec.is_compatible_with(hr.placeholder(hr.float32, [3, 2]))
    assert not spec.is_compatible_with(hr.placeholder(hr.float32, [3, 3]))
    assert not spec.is_compatible_with(hr.placeholder(hr.int32, [3, 2]))
    assert spec == hr.TensorSpec.from_spec(spec) and spec != hr.TensorSpec([None, 2])


def test_compat_v1_has_all_public_names():
    assert hr.compat.v1.placeholder is hr.placeholder
    assert hr.__version__.split(".")[:2] == hr.VERSION.split(".")[:2] == ["1", "15"]
    assert hr.version.PACKAGE_VERSION == version("headrace-graph")
