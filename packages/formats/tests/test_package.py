import os
import subprocess
import sys

import pytest

import headrace.formats


def test_importing_the_package_loads_no_heavy_module():
    code = "import headrace.formats, sys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heavy = {"numpy", "google.protobuf", "ml_dtypes", "google_crc32c", "importlib.metadata"}
    assert not heavy & set(loaded.stdout.split())


def test_include_dir_contains_the_headers():
    names = os.listdir(os.path.join(headrace.formats.include_dir(), "headrace"))
    assert {"kernel.h", "crc32c.h", "record_reader.h", "table_reader.h", "bundle_reader.h"} <= set(
        names
    )


def test_common_names_are_imported_lazily():
    from headrace.formats import dtypes, graph_pb2
    from headrace.formats.proto import graph_pb2 as same

    assert graph_pb2 is same
    assert headrace.formats.as_dtype is dtypes.as_dtype
    assert headrace.formats.BundleReader.__module__ == "headrace.formats.bundle_reader"
    for name in headrace.formats.reexports._MODULE_OF:
        assert getattr(headrace.formats, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = headrace.formats.nothing
    with pytest.raises(ImportError):
        from headrace.formats import no_such_pb2  # noqa: F401
