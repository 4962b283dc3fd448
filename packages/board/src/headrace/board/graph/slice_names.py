"""Finds the node of a graph to which a slice of a trace belongs, by its name in the executor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np

from headrace.board.graph.structure.graph_columns import GraphColumns
from headrace.board.graph.structure.scopes import FUNCTIONS_LABEL

_MAX_PARTS = 64  # prefixes of a name that are tried as the name of a call
_MAX_CALLS = 16  # depth of nested calls
_MAX_BODIES = 64  # functions that one call name may refer to

Called = Callable[[str], list[int] | None]  # the functions that a node of a name calls


class SliceNames:
    """Finds nodes by their names in traces.

    Nodes of the graph have their own names in traces. A node of a function body has its name within
    the body or, if the call was inlined, the name of the call followed by its own. Calls may be
    nodes of the graph or of a body that ran as a graph. If several bodies have a node of that
    name, the op decides, then the function with the larger share of names in the trace.
    """

    def __init__(self, columns: GraphColumns):
        self._columns = columns
        self._plain: dict[str, int] = {}
        self._inside: dict[str, list[int]] = {}
        self._of_function: list[dict[str, int]] = [{} for _ in columns.functions]
        self._called: dict[int, list[int]] = {}
        for at, (name, home) in enumerate(zip(columns.names, columns.home.tolist(), strict=True)):
            if home < 0:
                self._plain.setdefault(name, at)
            else:
                self._inside.setdefault(name, []).append(at)
                self._of_function[home].setdefault(name, at)
        for number, function in enumerate(columns.functions):
            for caller in function.callers:
                self._called.setdefault(caller, []).append(number)
        self._calls_inside: dict[str, list[int]] = {}
        for caller, numbers in self._called.items():
            if columns.home[caller] >= 0:
                self._calls_inside.setdefault(columns.names[caller], []).extend(numbers)

    def node_name(self, node: int) -> str:
        """Returns the name of a node in the graph: `functions/F/name` in a function body."""
        home = int(self._columns.home[node])
        name = self._columns.names[node]
        if home < 0:
            return name
        return f"{FUNCTIONS_LABEL}/{self._columns.functions[home].name}/{name}"

    def nodes_of(self, names: Sequence[str], ops: Sequence[str]) -> np.ndarray:
        """Finds the nodes of the names of a trace.

        Args:
          names: as in the trace; `name:Op` stands for `name`.
          ops: the op of each name, empty if the trace does not record it.
        Returns: i64[n], -1 for names that the graph does not have.
        """
        found = np.full(len(names), -1, np.int64)
        unsure: list[tuple[int, list[int]]] = []
        votes: Counter[int] = Counter()
        home = self._columns.home
        for at, (name, op) in enumerate(zip(names, ops, strict=True)):
            node = self._exactly(name)
            if node is None:
                name = name.partition(":")[0]
                node = self._exactly(name)
            if node is not None:
                found[at] = node
                continue
            bodies = self._inside.get(name, [])
            alike = [n for n in bodies if self._op(n) == op] or bodies
            if alike:
                votes.update({int(home[n]) for n in alike})
                unsure.append((at, alike))
        functions = self._columns.functions
        share = {f: count / (functions[f].end - functions[f].first) for f, count in votes.items()}
        for at, alike in unsure:
            found[at] = max(alike, key=lambda n: (share[int(home[n])], -n))
        return found

    def _op(self, node: int) -> str:
        return self._columns.ops[self._columns.op[node]]

    def _exactly(self, name: str) -> int | None:
        """Returns a node of the graph, or of the body of a call with which the name starts."""
        node = self._plain.get(name)
        if node is None and self._called:
            return self._inlined(name)
        return node

    def _inlined(self, name: str) -> int | None:
        """Returns the node if the name starts with a call of the graph or of a function body."""
        found = self._in_bodies(name, self._called_in([self._plain]))
        return self._in_bodies(name, self._calls_inside.get) if found is None else found

    def _in_bodies(self, name: str, called: Called) -> int | None:
        """Removes calls from the start of a name until the rest is in a called function."""
        for _ in range(_MAX_CALLS):
            length, functions = self._call_at_begin(name, called)
            name = name[length:]
            bodies = islice(dict.fromkeys(functions), _MAX_BODIES)
            tables = [self._of_function[f] for f in bodies]
            for table in tables:
                if name in table:
                    return table[name]
            if not tables:
                return None
            called = self._called_in(tables)
        return None

    def _called_in(self, tables: list[dict[str, int]]) -> Called:
        def called(head: str) -> list[int]:
            nodes = (table[head] for table in tables if head in table)
            return [f for node in nodes for f in self._called.get(node, ())]

        return called

    def _call_at_begin(self, name: str, called: Called) -> tuple[int, list[int]]:
        """Returns the length of the call at the start of the name, and the called functions."""
        end = -1
        for _ in range(_MAX_PARTS):
            end = name.find("/", end + 1)
            if end < 0:
                break
            functions = called(name[:end])
            if functions:
                return end + 1, functions
        return 0, []
