"""Lazy attributes of `headrace.formats`: a module is imported when one of its names is used."""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # importing typing for its constant takes 5 ms
if TYPE_CHECKING:
    from typing import Any

_MODULE_OF = {
    "DType": "dtypes",
    "as_dtype": "dtypes",
    "make_ndarray": "tensor_codec",
    "make_tensor_proto": "tensor_codec",
    "RecordReader": "record_file",
    "RecordWriter": "record_file",
    "BundleReader": "bundle_reader",
    "BundleWriter": "bundle_writer",
    "merge_bundles": "bundle_merge",
    "EventFileReader": "event_file",
    "EventFileWriter": "event_file",
    "find_service": "services",
}


def lazy_attribute(name: str) -> Any:
    """Implements the module `__getattr__` of headrace.formats (PEP 562).

    Generated modules have two names: `headrace.formats.proto.graph_pb2` and
    `headrace.formats.graph_pb2` are the same module.
    """
    if name.endswith("_pb2"):
        try:
            return importlib.import_module(f"headrace.formats.proto.{name}")
        except ModuleNotFoundError as error:
            raise AttributeError(f"headrace.formats has no messages named {name!r}") from error
    home = _MODULE_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'headrace.formats' has no attribute {name!r}")
    return getattr(importlib.import_module(f"headrace.formats.{home}"), name)
