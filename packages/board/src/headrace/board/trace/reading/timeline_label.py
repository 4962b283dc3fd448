"""Parses timeline labels: the op, its inputs, and the devices of transfers.

Labels as TensorFlow writes them (step_stats_collector.cc, rpc worker cache logger):
    name = Op(input, input:1, ^control)            [cpu 1.0MB 2.0MB] name = Op(input)
    name = _Recv(tensor_name @device)              name = _Send(tensor_name @device)
    [0.2MB] [4.5Gb/s] tensor_name from device to device        for a RecvTensor
and as Headrace writes them: `name = Op`, or `a = AddV2; b = Relu` for fused nodes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# These patterns match in linear time; other parts of labels are parsed without patterns.
_MEMORY = re.compile(r"^\[[^\]]*\]\s*(?=\S+ = )")
_ASSIGNED = re.compile(r"^(\S+) = ([A-Za-z_>][\w>]*)(?:\((.*)\)?)?$", re.S)
_MAX_CHARACTERS = 1 << 16
_BARE_OP = re.compile(r"^[A-Za-z_]\w*$")
_MAX_FUSED = 3


@dataclass(frozen=True)
class TimelineLabel:
    """A parsed label; parts that it does not have are empty."""

    op: str = ""
    inputs: tuple[str, ...] = ()  # node names, without ports and without ^ of control inputs
    fused: tuple[str, ...] = ()  # names of fused nodes
    tensor: str = ""  # name of a transferred tensor
    source: str = ""  # device
    target: str = ""  # device


def read_label(name: str, label: str, on_stream: bool) -> TimelineLabel:
    """Parses the label of a node.

    Args:
      name: the node's name.
      label: its timeline_label.
      on_stream: whether it ran on a GPU's stream or copy engine, where names are `node:Op`.
    """
    label = label[:_MAX_CHARACTERS]
    if on_stream:
        _, _, op = name.rpartition(":")
        return TimelineLabel(op=op if ":" in name else label.split(" ")[0] or name)
    if name == "RecvTensor":
        return _received(name, label)
    text = _MEMORY.sub("", label)
    parts = text.split("; ")
    if len(parts) > 1:
        result = [_ASSIGNED.match(part) for part in parts]
        found_all = [m for m in result if m is not None]
        if len(found_all) == len(parts):
            ops = [m[2] for m in found_all]
            kept = ops if len(ops) <= _MAX_FUSED else [*ops[: _MAX_FUSED - 1], "…", ops[-1]]
            return TimelineLabel(op="+".join(kept), fused=tuple(m[1] for m in found_all))
    found = _ASSIGNED.match(text)
    if found is None:
        return TimelineLabel(op=text if _BARE_OP.match(text) else "")
    _, op, inside = found.groups()
    inside = (inside or "").rstrip(")")
    at_device = _at_device(inside) if is_transfer(op) else None
    if at_device is not None:
        tensor, device = at_device
        if is_send(op):
            return TimelineLabel(op=op, tensor=tensor, target=device)
        return TimelineLabel(op=op, tensor=tensor, source=device)
    inputs = tuple(node_of(part) for part in inside.split(", ") if part)
    return TimelineLabel(op=op, inputs=inputs)


def _received(name: str, label: str) -> TimelineLabel:
    """Parses `[0.2MB] [4.5Gb/s] tensor from device to device`."""
    at = 0
    while label.startswith("[", at):
        end = label.find("]", at)
        if end < 0:
            break
        at = end + 1
        while label[at : at + 1].isspace():
            at += 1
    words = label[at:].split(" ")
    if len(words) != 5 or words[1] != "from" or words[3] != "to" or not all(words):
        return TimelineLabel(op=name)
    return TimelineLabel(op=name, tensor=words[0], source=words[2], target=words[4])


def _at_device(inside: str) -> tuple[str, str] | None:
    """Parses `tensor @device` or `tensor@device`; None for any other text."""
    words = inside.split()
    if not words or inside[-1:].isspace():
        return None
    last = words[-1]
    before = inside[: len(inside) - len(last)].rstrip()
    if before.endswith("@"):
        return before[:-1].rstrip(), last
    tensor, _, device = last.partition("@")
    if not device:
        return None
    return (inside[: len(inside) - len(last)] + tensor).rstrip(), device


def node_of(tensor: str) -> str:
    """Returns the node name in `name`, `name:port` or `^name`."""
    name, colon, port = tensor.lstrip("^").rpartition(":")
    return name if colon and port.isdigit() else tensor.lstrip("^")


def is_send(op: str) -> bool:
    return op in ("_Send", "_HostSend", "Send")


def is_recv(op: str) -> bool:
    return op in ("_Recv", "_HostRecv", "Recv")


def is_copy(op: str) -> bool:
    """Whether an op copies between the memories of the host and of a device."""
    return op in ("_CopyToDevice", "_CopyToHost")


def is_transfer(op: str) -> bool:
    return is_send(op) or is_recv(op)


def producer_of(tensor: str) -> str:
    """Returns the node in a rendezvous name: `layer1/Relu` for `edge_12_layer1/Relu`."""
    found = re.match(r"^edge_\d+_(.+)$", tensor)
    return found[1] if found else tensor
