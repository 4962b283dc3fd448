"""Why the nodes of a traced step run where they do, as a part of its RunMetadata."""

from __future__ import annotations

import logging
from typing import Any

from headrace.formats.proto.plan_pb2 import PlacementReport
from headrace.formats.proto.run_pb2 import RunMetadata

_log = logging.getLogger("headrace.runtime")


def placement_metadata(planned: PlacementReport, costs: Any) -> bytes:
    """Returns a serialized RunMetadata, to be appended to that of a step; b"" if it fails.

    Args:
      planned: the placement, as it was planned.
      costs: the NodeCosts of the session: what is measured by now.
    """
    report = PlacementReport()
    try:
        report.CopyFrom(planned)
        costs.note_measured(report)
    except Exception as error:
        _log.warning("no report of the placement: %s", error)
        return b""
    return RunMetadata(placement=report).SerializeToString()
