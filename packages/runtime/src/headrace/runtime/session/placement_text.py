"""A PlacementReport as text."""

from __future__ import annotations

import os
from typing import Any

from headrace.formats.proto.plan_pb2 import PlacementReport


def placement_text(report: bytes) -> str:
    """Returns a readable text: devices, transfers between tasks, and each node with its reason.

    Args:
      report: a serialized PlacementReport.
    """
    placement = PlacementReport.FromString(report)
    names = [device.name for device in placement.device]
    short = _short_names(names)
    lines = [_summary(placement), ""]
    used = [device for device in placement.device if device.nodes]
    lines += _table(
        ["device", "nodes", "expected us", "measured us"],
        [
            [d.name, str(d.nodes), f"{d.expected_us:.1f}", _measured(d.measured_us or -1.0)]
            for d in used
        ],
    )
    if len(used) < len(names):
        lines.append(f"{len(names) - len(used)} other devices have no nodes")
    if placement.transfer:
        lines += ["", "between tasks:"]
        lines += _table(
            ["tensor", "from", "to", "bytes", "expected us"],
            [
                [
                    t.tensor,
                    short[t.from_device],
                    short[t.to_device],
                    str(t.bytes),
                    f"{t.expected_us:.1f}",
                ]
                for t in placement.transfer
            ],
        )
    if placement.HasField("receives"):
        lines += ["", _receives(placement.receives)]
    lines.append("")
    lines += _table(
        ["node", "op", "device", "start us", "expected us", "measured us", "bytes", "why"],
        [
            [
                node.name,
                node.op,
                short[node.device],
                f"{node.start_us:.1f}",
                f"{node.expected_us:.1f}",
                _measured(node.measured_us),
                str(node.output_bytes),
                _reason(node, short),
            ]
            for node in placement.node
        ],
    )
    return "\n".join(lines)


def _summary(placement: PlacementReport) -> str:
    nodes = f"{len(placement.node)} nodes; expected step: {placement.step_us:.1f} us"
    if placement.simulated:
        return (
            f"{nodes}, by the simulation; each node on its first device: "
            f"{placement.first_devices_us:.1f} us"
        )
    return f"{nodes}, each node on the first device that it may have, accelerators before CPUs"


def _receives(receives: PlacementReport.Receives) -> str:
    if not receives.delayed:
        return "no tensor is delayed until its receiver needs it"
    return (
        f"{receives.delayed} tensors are delayed until their receivers need them: at most "
        f"{receives.peak_bytes / 1e6:.1f} MB wait at one time, not "
        f"{receives.peak_bytes_before / 1e6:.1f} MB"
    )


def _reason(node: Any, short: dict[str, str]) -> str:
    reasons = PlacementReport
    partner = getattr(node, "with")
    text = {
        reasons.FIRST: "the first device that it may have",
        reasons.REQUESTED: f"requested: {node.requested}",
        reasons.KERNELS: "other devices have no kernel for it",
        reasons.COLOCATED: f"colocated with '{partner}'",
        reasons.REFERENCE: f"refers to the variable or resource of '{partner}'",
        reasons.STATE: "its state is there",
        reasons.SIMULATED: "simulated",
        reasons.ACCELERATOR: "the first accelerator that it may have",
    }[node.reason]
    if node.reason == reasons.SIMULATED and node.estimate:
        ends = ", ".join(f"{short[e.device]} {e.end_us:.1f} us" for e in node.estimate)
        text += f", would end on {ends}"
    elif node.reason == reasons.SIMULATED:
        text += ", with its group"
    if node.request_ignored:
        text += f" (there is no {node.requested} for it)"
    return text


def _measured(microseconds: float) -> str:
    return f"{microseconds:.1f}" if microseconds >= 0 else "-"


def _short_names(names: list[str]) -> dict[str, str]:
    """Names without the beginning that all of them share."""
    shared = os.path.commonprefix(names) if len(names) > 1 else ""
    shared = shared[: shared.rfind("/")]
    return {name: name[len(shared) :] for name in names}


def _table(header: list[str], rows: list[list[str]]) -> list[str]:
    """Lines with aligned columns; the last column is not padded."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = []
    for row in [header, *rows]:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return lines
