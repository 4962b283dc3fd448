"""Where a function's effects end: nodes that run once a call, after effects in loops and branches.

Nothing outside of a frame can wait for a node in it, and what waits for a node of a branch is dead
where the other branch is taken. The end of such an effect is the Exit or Merge that it leads to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from headrace.formats.proto.graph_pb2 import NodeDef

_ENTERS = frozenset({"Enter", "RefEnter"})
_EXITS = frozenset({"Exit", "RefExit"})
_SWITCHES = frozenset({"Switch", "RefSwitch", "_SwitchN"})
_MERGES = frozenset({"Merge", "RefMerge"})
_NEXT = frozenset({"NextIteration", "RefNextIteration"})
_CONTROL_FLOW = _ENTERS | _EXITS | _SWITCHES | _MERGES


def ends_of(nodes: Collection[NodeDef], effects: Iterable[str]) -> list[str]:
    """Returns what a call waits for so that its effects have happened.

    Args:
      nodes: the nodes of a function.
      effects: names of some of them.
    Returns: names of nodes outside of loops and branches, each once. An effect that leads to none
      is left out: nothing can wait for it.
    """
    effects = list(dict.fromkeys(effects))
    if not any(node.op in _CONTROL_FLOW for node in nodes):
        return effects
    return _Body(nodes).ends_of(effects)


class _Body:
    """The nodes of a function, and how deep in loops and branches each of them is."""

    def __init__(self, nodes: Collection[NodeDef]) -> None:
        self._nodes = {node.name: node for node in nodes}
        self._sources = {
            node.name: [s for text in node.input if (s := _node_of(text)) in self._nodes]
            for node in nodes
        }
        self._readers: dict[str, list[str]] = {}
        for name, sources in self._sources.items():
            for source in sources:
                self._readers.setdefault(source, []).append(name)
        self._depths: dict[str, int] = {}

    def ends_of(self, effects: list[str]) -> list[str]:
        """Returns the nearest readers, directly or not, that are in no loop and no branch."""
        found: dict[str, None] = {}
        for effect in effects:
            ahead, seen = [effect], {effect}
            while ahead:
                name = ahead.pop()
                if self._depth(name) <= 0:
                    found[name] = None
                    continue
                more = [r for r in self._readers.get(name, ()) if r not in seen]
                seen.update(more)
                ahead += more
        return list(found)

    def _depth(self, name: str) -> int:
        """The number of loops and branches around a node; a loop counts from its Enter on."""
        path = [name]
        begun: set[str] = set()
        while path:
            at = path[-1]
            # A NextIteration closes the cycle of a loop; a body with other cycles does not run.
            sources = [s for s in self._sources[at] if self._nodes[s].op not in _NEXT]
            missing = [s for s in sources if s not in self._depths and s not in begun]
            begun.add(at)
            if at not in self._depths and missing:
                path += missing
                continue
            path.pop()
            around = max((self._depths.get(s, 0) for s in sources), default=0)
            self._depths.setdefault(at, around + self._change(self._nodes[at]))
        return self._depths[name]

    def _change(self, node: NodeDef) -> int:
        """How much deeper the readers of a node are than what it reads."""
        if node.op in _ENTERS:
            return 1
        if node.op in _EXITS:
            return -1
        if node.op in _SWITCHES:
            return 0 if self._op(node, 1) == "LoopCond" else 1
        if node.op in _MERGES:
            of_loop = any(self._op(node, i) in _ENTERS | _NEXT for i in range(len(node.input)))
            return 0 if of_loop else -1
        return 0

    def _op(self, node: NodeDef, number: int) -> str:
        source = self._nodes.get(_node_of(node.input[number])) if number < len(node.input) else None
        return "" if source is None else source.op


def _node_of(text: str) -> str:
    """The node that an input of a FunctionDef names: "^node", "node:output:0", "argument"."""
    return text.removeprefix("^").partition(":")[0]
