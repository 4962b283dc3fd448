"""Names that `headrace.formats` offers without importing them before they are asked for."""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # typing's own constant would cost the import of typing: 5 ms
if TYPE_CHECKING:
    from typing import Any

_HOME = {
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
    """The module `__getattr__` of headrace.formats (PEP 562).

    Messages are there under both `headrace.formats.proto.graph_pb2` and
    `headrace.formats.graph_pb2`; both are the same module.
    """
    if name.endswith("_pb2"):
        try:
            return importlib.import_module(f"headrace.formats.proto.{name}")
        except ModuleNotFoundError as error:
            raise AttributeError(f"headrace.formats has no messages named {name!r}") from error
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'headrace.formats' has no attribute {name!r}")
    return getattr(importlib.import_module(f"headrace.formats.{home}"), name)
