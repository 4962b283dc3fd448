"""Makes a failing case smaller, as long as it fails the same way."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Iterator
from pathlib import Path

import verdicts
from child_processes import Ended, run_batch
from fuzz_case import Case, to_text

TRIES = 60


def minimised(case: Case, verdict: str, memory_gib: float, limit_s: float) -> Case:
    """The smallest case with the same verdict that is found in some tries, or the case itself."""
    tries = TRIES
    limit_s = min(limit_s, 3.0)
    if not _fails(case, verdict, memory_gib, limit_s):
        return case
    again = True
    while again and tries > 0:
        again = False
        for smaller in _smaller(case):
            tries -= 1
            if tries < 0:
                break
            if _fails(smaller, verdict, memory_gib, limit_s):
                case, again = smaller, True
                break
    return case


def _fails(case: Case, verdict: str, memory_gib: float, limit_s: float) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.pbtxt"
        path.write_text(to_text(case))
        try:
            memory = int(memory_gib * (1 << 30))
            for record in run_batch("file", 0, 1, memory=memory, limit_s=limit_s, file=str(path)):
                if record[0] != "end":
                    found = verdicts.of_ours(record[3], record[2], record[5])
                    return any(v == verdict for v, _ in found)
        except Ended as ended:
            return ended.how == verdict
    return False


def _smaller(case: Case) -> Iterator[Case]:
    """Cases without one run, thread, call, fetch or node."""
    for index in range(len(case.runs)):
        if len(case.runs) > 1:
            less = copy.deepcopy(case)
            del less.runs[index]
            yield less
    for thread in range(len(case.calls)):
        less = copy.deepcopy(case)
        del less.calls[thread]
        yield less
        for call in range(len(case.calls[thread])):
            less = copy.deepcopy(case)
            del less.calls[thread][call]
            yield less
    fetches = {fetch for run in case.runs for fetch in run.fetches}
    for fetch in sorted(fetches):
        if len(fetches) > 1:
            less = copy.deepcopy(case)
            for run in less.runs:
                run.fetches = [f for f in run.fetches if f != fetch]
            yield less
    if case.wire is None:
        yield from _without_a_node(case)


def _without_a_node(case: Case) -> Iterator[Case]:
    used = {i.split(":")[0].lstrip("^") for node in case.graph.node for i in node.input}
    used |= {f.split(":")[0] for run in case.runs for f in [*run.fetches, *run.targets]}
    for index in reversed(range(len(case.graph.node))):
        node = case.graph.node[index]
        less = copy.deepcopy(case)
        if node.name not in used:
            del less.graph.node[index]
            for run in less.runs:
                run.feeds.pop(f"{node.name}:0", None)
            yield less
        for at in reversed(range(len(node.input))):
            if node.input[at].startswith("^"):
                less = copy.deepcopy(case)
                del less.graph.node[index].input[at]
                yield less
