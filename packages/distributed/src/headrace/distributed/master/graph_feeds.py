"""Which feeds the fetches of a partial run depend on."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.formats.proto.graph_pb2 import GraphDef


class GraphInputs:
    """The inputs of the nodes of a graph, by name."""

    def __init__(self) -> None:
        self._inputs: dict[str, list[str]] = {}
        self.devices: dict[str, str] = {}

    def extend(self, graph_def: GraphDef) -> None:
        """Adds nodes."""
        for node in graph_def.node:
            self._inputs[node.name] = list(node.input)
            self.devices[node.name] = node.device

    def feeds_of(self, name: str, feeds: Iterable[str]) -> list[str]:
        """Returns the feeds that a tensor or operation depends on.

        Args:
          name: "x:0", or "x" for an operation.
          feeds: names of tensors.
        Example:
          >>> graph = GraphInputs()
          >>> graph.extend(GraphDef(node=[{"name": "x"}, {"name": "y", "input": ["x", "^z"]}]))
          >>> graph.feeds_of("y:0", ["x:0", "a:0"])
          ['x:0']
        """
        fed = {_tensor(feed): feed for feed in feeds}
        found: dict[str, None] = {}
        stack, seen = [name], set()
        while stack:
            at = stack.pop()
            if _tensor(at) in fed and ":" in at:
                found[fed[_tensor(at)]] = None
                continue
            node = at.partition(":")[0]
            if node in seen:
                continue
            seen.add(node)
            for given in self._inputs.get(node, ()):
                stack.append(given[1:] if given.startswith("^") else _tensor(given))
        return sorted(found)


def _tensor(name: str) -> str:
    return name if ":" in name else f"{name}:0"
