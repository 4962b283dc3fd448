"""TensorFlow's judgement of a case, without what says nothing about us.

Not counted, and why:

- TensorFlow disagrees with itself: two equal runs of it differ, or a run in a process whose
  fresh memory holds other bytes does (outputs that a kernel leaves unset, constants changed in
  place).
- TensorFlow flushes subnormal numbers to zero, as our kernels do ("Denormals" in
  docs/architecture.md), though not always where we do: counted only where our result of the case
  with zeros in their place differs as well.
- Nodes that no run needs are not shown to it: it checks the whole graph at import, we what runs.
  What we reject counts only where it takes the whole graph.
- TensorFlow looks at a shape only where the graph declares it, or only where it does not: counted
  only where its results also differ from ours with constants for the feeds, with feeds for the
  constants, and with the shapes of all values hidden (also in branches and loops that do not run).
- We have no kernel for an op that is not implemented (tests/ops/missing_kernels.py), and say so.
- Signs of the columns of Qr and Svd (column_signs.py).
- What kept_differences.py lists, each with its reason.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import kept_differences
import ml_dtypes  # noqa: F401 (finfo of bfloat16)
import numpy as np
import verdicts
from child_processes import Ended, Judge, run_batch
from column_signs import equal_but_for_signs
from fuzz_case import Case, Run, to_text

from headrace.formats import op_catalogue
from headrace.formats.proto.graph_pb2 import GraphDef, NodeDef
from headrace.formats.tensor_codec import make_ndarray, make_tensor_proto

Outcome = verdicts.Outcome
DT_RESOURCE, DT_VARIANT = 20, 21
_JOINTS = ("Merge", "RefMerge", "Exit", "LoopCond", "PlaceholderWithDefault")  # read by position


class Judgement:
    """Two processes of TensorFlow, the second used only where the first one differs from us.

    Attributes:
      crashes: how often one of them ended.
      hangs: how often a run did not end in one of them.
      set_aside: cases whose difference is TensorFlow's own.
    """

    def __init__(self, python: str, portable: Any) -> None:
        self._first = Judge(python)
        self._second = Judge(python, {"MALLOC_PERTURB_": "165"})
        self._portable = portable
        self.set_aside = 0

    @property
    def crashes(self) -> int:
        return self._first.crashes + self._second.crashes

    @property
    def hangs(self) -> int:
        return self._first.hangs + self._second.hangs

    def of(
        self, case: Case, ours: list[Outcome], limits: dict[str, Any]
    ) -> list[tuple[str, str]] | None:
        """The verdicts on our outcomes; None where TensorFlow has none."""
        shown = needed(case)
        theirs = self._first.run(shown, self._portable)
        if theirs is None:
            return None
        found = verdicts.against(ours, theirs, case.random)
        if not found:
            return []
        if any(words.startswith("import:") for _, words in found):
            shown = needed(with_hidden_shapes(case))
            theirs = self._first.run(shown, self._portable) or theirs
        again = self._second.run(shown, self._portable)
        kept = [
            i for i in range(min(len(ours), len(theirs))) if _stands(i, theirs, again, case.random)
        ]
        found = verdicts.against([ours[i] for i in kept], [theirs[i] for i in kept], case.random)
        if found and (flushed := without_subnormals(case)) is not None:
            rerun = _outcomes(flushed, limits)
            if rerun is not None and len(rerun) == len(ours):
                mine = [rerun[i] for i in kept]
                found = verdicts.against(mine, [theirs[i] for i in kept], case.random)
        if found:
            found = [
                (verdict, words)
                for verdict, words in found
                if not self._explained(case, ours, theirs, verdict, words)
            ]
        self.set_aside += not found
        return found

    def _explained(
        self, case: Case, ours: list[Outcome], theirs: list[Outcome], verdict: str, words: str
    ) -> bool:
        if kept_differences.has_no_kernel(words) or kept_differences.why_kept(
            case, words, verdict == "different values"
        ):
            return True
        if verdict == "different values":
            op = case.ops[-1] if case.ops else ""
            return all(
                mine == peer or equal_but_for_signs(op, mine[1], peer[1])
                for mine, peer in zip(ours, theirs, strict=False)
                if mine[0] == peer[0] == "values"
            )
        if verdict.startswith("rejected"):
            whole = self._first.run(case, self._portable)
            if whole and all(how == "rejected" for how, _ in whole):
                return True
        for i, (mine, peer) in enumerate(zip(ours, theirs, strict=False)):
            if mine[0] == peer[0]:
                continue
            again = self._first.run(needed(as_constants(case, i)), self._portable)
            if again and not verdicts.against([mine], again[:1], case.random):
                return True
            again = self._first.run(needed(as_feeds(case, i)), self._portable)
            return bool(again) and not verdicts.against([mine], again[:1], case.random)
        return False

    def close(self) -> None:
        """Ends both processes."""
        self._first.close()
        self._second.close()


def _stands(i: int, theirs: list[Outcome], again: list[Outcome] | None, random: bool) -> bool:
    """Whether TensorFlow's result of run i is reproducible; runs 0 and 1 are equal."""
    others = [again[i]] if again is not None and i < len(again) else []
    others += [theirs[1 - i]] if i < 2 and len(theirs) > 1 else []
    return not any(_differ(theirs[i], other, random) for other in others)


def _differ(one: Outcome, other: Outcome, random: bool) -> bool:
    if one[0] != other[0]:
        return True
    return one[0] == "values" and not random and bool(verdicts.difference(one[1], other[1]))


def needed(case: Case) -> Case:
    """The case with only the nodes that its runs need."""
    nodes = {node.name: node for node in case.graph.node}
    reached: set[str] = set()
    ahead = [_node(n) for run in case.runs for n in (*run.fetches, *run.targets, *run.feeds)]
    while ahead:
        name = ahead.pop()
        if name in nodes and name not in reached:
            reached.add(name)
            ahead += [_node(i) for i in nodes[name].input]
    if case.wire is not None or len(reached) == len(nodes):
        return case
    graph = GraphDef()
    graph.CopyFrom(case.graph)
    del graph.node[:]
    graph.node.extend(node for node in case.graph.node if node.name in reached)
    return Case(graph, case.runs, random=case.random)


def _node(name: str) -> str:
    return name.lstrip("^").partition(":")[0]


def as_constants(case: Case, number: int) -> Case:
    """One run of the case, with constants for its feeds: all shapes are known."""
    run = case.runs[number]
    fed = {_node(name): value for name, value in run.feeds.items()}
    graph = GraphDef()
    graph.CopyFrom(case.graph)
    for node in graph.node:
        if node.op == "Placeholder" and node.name in fed:
            node.op = "Const"
            del node.attr["shape"]
            node.attr["value"].tensor.CopyFrom(make_tensor_proto(fed[node.name]))
    return Case(graph, [Run({}, run.fetches, run.targets)], random=case.random)


def as_feeds(case: Case, number: int) -> Case:
    """One run of the case, with feeds for its constants: no shape is known."""
    run = case.runs[number]
    feeds = dict(run.feeds)
    graph = GraphDef()
    graph.CopyFrom(case.graph)
    for node in graph.node:
        if node.op == "Const" and not node.input:
            feeds[f"{node.name}:0"] = make_ndarray(node.attr["value"].tensor)
            node.op = "Placeholder"
            del node.attr["value"]
            node.attr["shape"].shape.unknown_rank = True
    return Case(graph, [Run(feeds, run.fetches, run.targets)], random=case.random)


def with_hidden_shapes(case: Case) -> Case:
    """The case with a PlaceholderWithDefault of unknown shape behind each output that is a value.

    TensorFlow then infers nothing at import and leaves the checks to its kernels.
    """
    graph = GraphDef()
    graph.CopyFrom(case.graph)
    veils: dict[str, str] = {}
    for node in case.graph.node:
        for index, (dtype, _) in enumerate(_arguments(node, "output_arg")):
            if dtype not in (0, DT_RESOURCE, DT_VARIANT):
                veil = graph.node.add(op="PlaceholderWithDefault", input=[f"{node.name}:{index}"])
                veil.name = f"{node.name}/veil{index}"
                veil.attr["dtype"].type = dtype  # type: ignore[assignment]
                veil.attr["shape"].shape.unknown_rank = True
                veils[f"{node.name}:{index}"] = veil.name
    for node in graph.node[: len(case.graph.node)]:
        if node.op in _JOINTS:
            continue
        for at, (_, by_reference) in enumerate(_arguments(node, "input_arg")[: len(node.input)]):
            if not by_reference:
                name = node.input[at]
                node.input[at] = veils.get(name if ":" in name else f"{name}:0", name)
    return Case(graph, case.runs, random=case.random)


def _arguments(node: NodeDef, which: str) -> list[tuple[int, bool]]:
    """Dtype, and whether it is a reference, of a node's inputs or outputs."""
    if op_catalogue.find(node.op) is None:
        return []
    found: list[tuple[int, bool]] = []
    for arg in getattr(op_catalogue.op_def(node.op), which):
        types = list(node.attr[arg.type_list_attr].list.type) if arg.type_list_attr else []
        many = node.attr[arg.number_attr].i if arg.number_attr else 1
        types = types or [arg.type or node.attr[arg.type_attr].type] * min(many, 99)
        found += [(dtype, arg.is_ref) for dtype in types]
    return found


def without_subnormals(case: Case) -> Case | None:
    """The case with zeros for subnormal inputs; None where it has none."""
    changed = False
    graph = GraphDef()
    graph.CopyFrom(case.graph)
    for node in graph.node:
        if node.op == "Const":
            value = make_ndarray(node.attr["value"].tensor)
            flushed = _flushed(value)
            if flushed is not None:
                changed = True
                node.attr["value"].tensor.CopyFrom(make_tensor_proto(flushed))
    runs = []
    for run in case.runs:
        feeds = {}
        for name, value in run.feeds.items():
            flushed = _flushed(value)
            changed |= flushed is not None
            feeds[name] = value if flushed is None else flushed
        runs.append(Run(feeds, run.fetches, run.targets))
    return Case(graph, runs, random=case.random) if changed else None


def _flushed(value: np.ndarray) -> np.ndarray | None:
    kind = value.dtype
    if kind.kind == "c":
        parts = [_flushed(np.ascontiguousarray(p)) for p in (value.real, value.imag)]
        if all(part is None for part in parts):
            return None
        result = value.copy()
        for part, name in zip(parts, ("real", "imag"), strict=True):
            if part is not None:
                setattr(result, name, part)
        return result
    try:
        least = ml_dtypes.finfo(kind).smallest_normal
    except (ValueError, TypeError):
        return None
    with np.errstate(all="ignore"):
        tiny = (value != 0) & (np.abs(value) < least)
    return np.where(tiny, np.zeros((), kind), value).astype(kind) if tiny.any() else None


def _outcomes(case: Case, limits: dict[str, Any]) -> list[Outcome] | None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.pbtxt"
        path.write_text(to_text(case))
        try:
            record: Iterable[Any] = list(run_batch("file", 0, 1, file=str(path), **limits))
        except Ended:
            return None
    return next((s[3] for s in record if s[0] != "end"), None)
