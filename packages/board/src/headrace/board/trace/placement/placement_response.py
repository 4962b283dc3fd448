"""A placement and its nodes as JSON objects of replies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace.board.trace.placement.placement import Placement
from headrace.formats.proto.plan_pb2 import PlacementReport

MAX_DEVICES = 1000
MAX_TRANSFERS = 200
MAX_ESTIMATES = 100
_TIMES = ("start", "expected", "measured", "ratio", "bytes")
_TEXTS = ("name", "op", "device", "why")
ORDERS = (*_TIMES, *_TEXTS)


def placement_summary(placement: Placement) -> dict[str, Any]:
    """Returns all about a placement except its nodes; of many transfers those that take longest."""
    report = placement.report
    devices = placement.device_sums()
    transfers = sorted(report.transfer, key=lambda move: -(known(move.expected_us) or 0.0))
    return {
        "nodes": len(placement),
        "simulated": report.simulated,
        "expected_us": known(report.step_us) or None,  # 0: nothing had a choice
        "first_devices_us": known(report.first_devices_us) or None,
        "measured_us": placement.step_us,
        "receives": _receives(report),
        "devices": devices[:MAX_DEVICES],
        "device_count": len(devices),
        "unused_devices": len(placement.devices) - len(devices),
        "transfers": [_transfer(placement, move) for move in transfers[:MAX_TRANSFERS]],
        "transfer_count": len(transfers),
        "transfer_bytes": sum(max(0, move.bytes) for move in transfers),
    }


def chosen_nodes(placement: Placement, order: str, text: str, device: int | None) -> np.ndarray:
    """Returns i64[k]: the nodes on a device whose name or op contains a text, in an order.

    Args:
      order: one of ORDERS; a "-" before it: the largest first. Nodes without the figure are last.
      text: in any case; "" finds all.
      device: an index into the placement's devices; None: on all.
    """
    shown = np.ones(len(placement), bool)
    if device is not None:
        shown &= placement.device == device
    if text:
        wanted = text.lower()
        shown &= np.array([wanted in one for one in placement.found_by], bool)
    at = np.flatnonzero(shown)
    key, falls = order.removeprefix("-"), order.startswith("-")
    figures = _texts_as_ranks(placement, key) if key in _TEXTS else getattr(placement, key)
    figure = figures[at].astype(np.float64)
    return at[np.argsort(-figure if falls else figure, kind="stable")]  # NaN is last either way


def node_row(placement: Placement, at: int) -> dict[str, Any]:
    """Returns what the placement has about a node."""
    node = placement.report.node[at]
    return {
        "node": node.name,
        "graph_node": placement.graph_nodes[at],
        "op": node.op,
        "device": node.device,
        "title": placement.title(node.device),
        "why": placement.reasons[at],
        "with": getattr(node, "with"),
        "requested": node.requested,
        "request_ignored": node.request_ignored,
        "estimates": [
            {
                "device": estimate.device,
                "title": placement.title(estimate.device),
                "end_us": known(estimate.end_us),
            }
            for estimate in node.estimate[:MAX_ESTIMATES]
        ],
        "start_us": known(placement.start[at]),
        "expected_us": known(placement.expected[at]),
        "measured_us": known(placement.measured[at]),
        "of_trace": bool(placement.of_trace[at]),
        "ratio": known(placement.ratio[at]),
        "output_bytes": int(placement.bytes[at]),
    }


def known(value: float) -> float | None:
    """Returns a time or a ratio; None for one that is negative or not finite."""
    return float(value) if math.isfinite(value) and value >= 0 else None


def _texts_as_ranks(placement: Placement, key: str) -> np.ndarray:
    texts = {
        "name": placement.names,
        "op": placement.ops,
        "why": placement.reasons,
        "device": placement.titles,
    }[key]
    rank = {text: i for i, text in enumerate(sorted(set(texts)))}
    ranks = np.array([rank[text] for text in texts], np.int64)
    return ranks[placement.device] if key == "device" else ranks


def _receives(report: PlacementReport) -> dict[str, Any] | None:
    if not report.HasField("receives"):
        return None
    figures = ("peak_bytes", "peak_bytes_before", "step_us", "step_us_before")
    return {
        "delayed": report.receives.delayed,
        **{name: known(getattr(report.receives, name)) for name in figures},
    }


def _transfer(placement: Placement, move: PlacementReport.Transfer) -> dict[str, Any]:
    return {
        "tensor": move.tensor,
        "from": placement.title(move.from_device),
        "to": placement.title(move.to_device),
        "bytes": max(0, move.bytes),
        "expected_us": known(move.expected_us),
    }
