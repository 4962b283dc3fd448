"""One fuzz case: a graph, its runs, and its file format.

A kind and a seed determine a case. Its file is a GraphDef in text form, in which a node `_fuzz` has
feeds, fetches and targets as attributes, so that a report needs only one file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from google.protobuf import text_format

from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.tensor_codec import make_ndarray, make_tensor_proto

HOLDER = "_fuzz"


@dataclass
class Run:
    """One call of a step."""

    feeds: dict[str, np.ndarray] = field(default_factory=dict)
    fetches: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)


@dataclass
class Case:
    """A graph and its runs in one session.

    Attributes:
      wire: bytes for extend instead of the graph, if they are not a GraphDef.
      calls: for each thread, its session calls (session_calls.py); empty: only the runs.
      random: whether two equal runs may give different values.
      config: a serialised ConfigProto for the session.
    """

    graph: GraphDef
    runs: list[Run] = field(default_factory=list)
    wire: bytes | None = None
    calls: list[list[list[Any]]] = field(default_factory=list)
    random: bool = False
    config: bytes = b""

    @property
    def sent(self) -> bytes:
        """The bytes for extend."""
        if self.wire is not None:
            return self.wire
        return self.graph.SerializeToString(deterministic=True)

    @property
    def ops(self) -> list[str]:
        """The ops of the graph without constants and placeholders."""
        plain = ("Const", "Placeholder", "NoOp", "Identity")
        return list(dict.fromkeys(n.op for n in self.graph.node if n.op not in plain))


def to_text(case: Case) -> str:
    """The case as a file."""
    graph = GraphDef()
    graph.CopyFrom(case.graph)
    holder = graph.node.add(name=HOLDER, op="NoOp")
    for number, run in enumerate(case.runs):
        holder.attr[f"fetches{number}"].list.s.extend(f.encode() for f in run.fetches)
        holder.attr[f"targets{number}"].list.s.extend(t.encode() for t in run.targets)
        for name, value in run.feeds.items():
            proto = make_tensor_proto(value)
            holder.attr[f"feed{number} {name}"].tensor.CopyFrom(proto)  # type: ignore[arg-type]
    holder.attr["runs"].i = len(case.runs)
    holder.attr["random"].b = case.random
    if case.config:
        holder.attr["config"].s = case.config
    if case.calls:
        holder.attr["calls"].s = json.dumps(case.calls).encode()
    if case.wire is not None:
        holder.attr["wire"].s = case.wire
    return text_format.MessageToString(graph)


def from_text(text: str) -> Case:
    """The case of a file."""
    graph = text_format.Parse(text, GraphDef())
    (holder,) = [node for node in graph.node if node.name == HOLDER]
    runs = []
    for number in range(holder.attr["runs"].i):
        feeds = {
            key.partition(" ")[2]: make_ndarray(value.tensor)
            for key, value in holder.attr.items()
            if key.startswith(f"feed{number} ")
        }
        fetches = [f.decode() for f in holder.attr[f"fetches{number}"].list.s]
        targets = [t.decode() for t in holder.attr[f"targets{number}"].list.s]
        runs.append(Run(feeds, fetches, targets))
    calls = json.loads(holder.attr["calls"].s) if "calls" in holder.attr else []
    wire = holder.attr["wire"].s if "wire" in holder.attr else None
    random, config = holder.attr["random"].b, holder.attr["config"].s
    graph.node.remove(holder)
    return Case(graph, runs, wire, calls, random, config)
