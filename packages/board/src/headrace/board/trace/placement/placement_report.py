"""Finds the placement in the run metadata of a record, and parses it."""

from __future__ import annotations

from google.protobuf.message import DecodeError

from headrace.board.graph.sources.record_view import metadata_parts
from headrace.board.reading.record_access import RecordAccess
from headrace.board.trace.trace_cache import TraceEntry
from headrace.formats.proto.plan_pb2 import PlacementReport
from headrace.formats.wire import MalformedError

_PLACEMENT = 10001  # of RunMetadata
_MAX_BYTES = 64 << 20
_MAX_NODES = 1_000_000


class PlacementError(ValueError):
    """The placement of a trace cannot be read; the message says why."""


def read_report(records: RecordAccess, entry: TraceEntry) -> PlacementReport | None:
    """Reads the placement of a trace, and of the rest of its record a few hundred bytes.

    Returns: None if the trace has none.
    Raises: PlacementError; DataLossError if the file no longer has the record.
    """
    try:
        spans = metadata_parts(
            records, entry.file, entry.offset, entry.length, entry.value, _PLACEMENT
        )
    except MalformedError as error:
        raise PlacementError(f"the run metadata is corrupted: {error}") from None
    if not spans:
        return None
    size = sum(end - begin for begin, end in spans)
    if size > _MAX_BYTES:
        raise PlacementError(f"it has {size >> 20} MiB, more than {_MAX_BYTES >> 20}")
    # A field that is there several times is one message: protobuf merges the parts.
    data = b"".join(
        records.part(entry.file, entry.offset, begin, end - begin) for begin, end in spans
    )
    try:
        report = PlacementReport.FromString(data)
    except DecodeError:
        raise PlacementError("its bytes are not a PlacementReport") from None
    if len(report.node) > _MAX_NODES:
        raise PlacementError(f"it has {len(report.node)} nodes, more than {_MAX_NODES}")
    return report
