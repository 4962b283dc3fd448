"""C and C++ include files of their package, headers of formats and system headers only."""

from __future__ import annotations

import re

import pytest
from checkout import PACKAGES, SHARED, source_root, sources

QUOTED = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
HEADRACE = re.compile(r"^\s*#\s*include\s*<(headrace/[^>]+)>", re.M)
EXTERN = re.compile(r'^\s*cdef\s+extern\s+from\s+["\'](?!<)([^"\']+)', re.M)
SUFFIXES = (".h", ".hpp", ".c", ".cpp", ".pyx", ".pxd")
INCLUDE = source_root(SHARED) / "headrace" / "formats" / "include"
# Of the numeric libraries and Python, which stand outside this repository.
OUTSIDE = re.compile(
    r"^(dnnl|oneapi/|numpy/|cblas|lapacke|Python\.h|omp\.h|std|math\.h|string\.h|unistd\.h)"
)


@pytest.mark.parametrize("package", PACKAGES)
def test_includes_are_of_the_package_or_of_formats(package: str) -> None:
    own = source_root(package)
    for path in sources(package, *SUFFIXES):
        text = path.read_text()
        for name in QUOTED.findall(text) + HEADRACE.findall(text) + EXTERN.findall(text):
            if OUTSIDE.match(name) or name == "*":
                continue
            folder = own / "headrace" / package
            roots = [path.parent, own, folder, folder / "cpu", folder / "opencl", INCLUDE]
            found = [root / name for root in roots if (root / name).is_file()]
            assert found, f"{path}: #include {name} is in no place that it may come from"
            real = found[0].resolve()
            assert real.is_relative_to(own) or real.is_relative_to(INCLUDE), f"{path}: {name}"


def test_the_headers_of_formats_include_only_each_other() -> None:
    for path in sorted(INCLUDE.rglob("*.h")):
        for name in QUOTED.findall(path.read_text()):
            near = (path.parent / name).resolve()
            assert near.is_file() or (INCLUDE / name).is_file(), f"{path}: {name}"
