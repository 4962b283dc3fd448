"""Runs a program of tests/ops/programs: here, here after a reload, and in TensorFlow."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import text_format
from op_programs import Program

import headrace.graph as hr
from headrace.formats.errors import OpError
from headrace.formats.proto.graph_pb2 import GraphDef

sys.path.append(str(Path(__file__).parents[1] / "fuzz"))
OLD = 21  # the last version whose graphs may have what TensorFlow took away later
Outcome = list[np.ndarray] | OpError


class Built:
    """A program's graph.

    Attributes:
      runs: the names of what each run takes.
    """

    def __init__(self, program: Program) -> None:
        with hr.Graph().as_default() as self.graph:
            self.runs = [[one.name for one in run] for run in program.build()]
        self.graph_def = GraphDef.FromString(self.graph.as_graph_def().SerializeToString())

    def reloaded(self, text: bool) -> hr.Graph:
        """The graph after it was written and imported."""
        read = GraphDef()
        if text:
            text_format.Parse(text_format.MessageToString(self.graph_def), read)
        else:
            read.ParseFromString(self.graph_def.SerializeToString())
        with hr.Graph().as_default() as graph:
            hr.import_graph_def(read.SerializeToString(), name="")
        return graph


def outcomes(graph: hr.Graph, runs: list[list[str]]) -> list[Outcome]:
    """What each run gives in a fresh session: its tensors, or its error."""
    found: list[Outcome] = []
    with hr.Session(graph=graph) as session:
        for names in runs:
            try:
                found.append(_run(session, graph, names))
            except OpError as error:
                found.append(error)
    return found


def _run(session: hr.Session, graph: hr.Graph, names: list[str]) -> list[np.ndarray]:
    options = hr.RunOptions(timeout_in_ms=20_000)
    found = session.run([graph.as_graph_element(n) for n in names], options=options)
    return [
        np.array(v, object) if isinstance(v, bytes) else np.asarray(v)
        for v in found
        if v is not None
    ]


def outcomes_in_tensorflow(judge: Any, built: Built) -> list[Any] | None:
    """The forms of tests/fuzz/fuzz_child.py for each run."""
    from fuzz_case import Case, Run
    from fuzz_child import portable

    runs = [
        Run({}, [n for n in names if ":" in n], [n for n in names if ":" not in n])
        for names in built.runs
    ]
    graph_def = GraphDef()
    graph_def.CopyFrom(built.graph_def)
    graph_def.versions.producer = OLD
    return judge.run(Case(graph_def, runs), portable)  # type: ignore[no-any-return]
