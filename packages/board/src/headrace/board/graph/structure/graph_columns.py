"""A GraphDef as arrays: names, ops, devices and types of nodes, and the edges between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headrace.formats import op_catalogue
from headrace.formats.op_signature import TYPE_NAMES

NODE_LIMIT = 2_000_000
LEFT_OUT = "left_out_by_pytorch"
NOTES = frozenset({LEFT_OUT})  # kinds of problem that are no fault of the log
_U16_LIMIT = 65_534  # 65535 means none


class GraphTooLarge(ValueError):
    """The graph has more nodes than the board shows."""


@dataclass
class Function:
    """A function of the library; its ops are rows first to end - 1 of the columns."""

    name: str
    first: int
    end: int
    callers: list[int] = field(default_factory=list)


@dataclass
class GraphColumns:
    """The nodes and edges of a graph, as arrays or lists by node index.

    The graph's own nodes come first, in the order of the file, followed by those of its functions.

    Attributes:
      names: full name within the graph, or within the function.
      home: -1, or the index of the function that a node belongs to; i32.
      op, device: index into ops, devices; u16.
      leaf: index into leaves, the combinations of op, types and number of data inputs; i32.
      leaf_op: the op (an index) of each leaf.
      edge_src, edge_dst: i32, in the order of the file; edge_port: i16, -1 for control.
      problems: by kind of problem, the number of cases and a description of the first; kinds in
        NOTES are shown with the graph only.
    """

    names: list[str]
    home: np.ndarray
    ops: list[str]
    op: np.ndarray
    devices: list[str]
    device: np.ndarray
    leaves: list[str]
    leaf: np.ndarray
    leaf_op: np.ndarray
    edge_src: np.ndarray
    edge_dst: np.ndarray
    edge_port: np.ndarray
    functions: list[Function]
    problems: dict[str, tuple[int, str]]

    def __len__(self) -> int:
        return len(self.names)


class _StringTable(dict[str, int]):
    """Numbers for strings, in order of first appearance; beyond the limit they share the last."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []  # by number

    def __missing__(self, key: str) -> int:
        index = self[key] = min(len(self), _U16_LIMIT)
        if index == len(self.texts):
            self.texts.append(key)
        return index


class _Reader:
    def __init__(self) -> None:
        self.names: list[str] = []
        self.ops, self.devices = _StringTable(), _StringTable()
        self.op: list[int] = []
        self.device: list[int] = []
        self.leaves: dict[tuple[Any, ...], int] = {}
        self.leaf: list[int] = []
        self.src: list[int] = []
        self.dst: list[int] = []
        self.port: list[int] = []
        self.problems: dict[str, tuple[int, str]] = {}
        # By op and attribute names: the attributes that hold a type or a function.
        self.type_keys: dict[tuple[str, ...], tuple[str, ...]] = {}
        self.calls: dict[str, list[int]] = {}
        self.func_keys: dict[tuple[str, ...], tuple[str, ...]] = {}
        self.first_ports: dict[tuple[int, str], int] = {}

    def problem(self, kind: str, text: str) -> None:
        count, first = self.problems.get(kind, (0, text))
        self.problems[kind] = (count + 1, first)

    def nodes(
        self, nodes: Iterable[Any], index: dict[str, int], function_names: set[str]
    ) -> list[list[str]]:
        """Appends nodes and adds their names to `index`. Returns: the inputs of each."""
        at = len(self.names)
        # Local variables: this loop and the next take half of the time of analysing a graph.
        type_keys, leaves, ops, devices = self.type_keys, self.leaves, self.ops, self.devices
        func_keys = self.func_keys
        all_inputs: list[list[str]] = []
        names, op_of, device_of, leaf_of = [], [], [], []
        for node in nodes:
            name, op, attr, inputs = node.name, node.op, node.attr, list(node.input)
            kind = (op, *attr)
            keys = type_keys.get(kind)
            if keys is None:
                keys = self._learn(kind, attr)
            if len(keys) == 1:  # the usual case
                key = keys[0]
                types: tuple[Any, ...] = ((key, attr[key].type),) if key in attr else ()
            else:
                types = tuple([(key, attr[key].type) for key in keys if key in attr])
            arity = len(inputs)
            while arity and inputs[arity - 1][:1] == "^":  # control inputs come last
                arity -= 1
            leaf_key = (op, arity, types)
            leaf = leaves.get(leaf_key)
            if leaf is None:
                leaf = leaves[leaf_key] = len(leaves)
            leaf_of.append(leaf)
            names.append(name)
            op_of.append(ops[op])
            device_of.append(devices[node.device])
            all_inputs.append(inputs)
            if index.setdefault(name, at) != at:
                self.problem("duplicate_name", f"two nodes are named {name[:200]!r}")
            if op in function_names:
                self.calls.setdefault(op, []).append(at)
            for key in func_keys[kind]:
                self._called(at, attr, key)
            at += 1
        self.names += names
        self.op += op_of
        self.device += device_of
        self.leaf += leaf_of
        return all_inputs

    def _learn(self, kind: tuple[str, ...], attr: Any) -> tuple[str, ...]:
        types, functions = [], []
        for key, value in attr.items():
            which = value.WhichOneof("value")
            if which == "type":
                types.append(key)
            elif which == "func" or (which == "list" and value.list.func):
                functions.append(key)
        self.func_keys[kind] = tuple(functions)
        self.type_keys[kind] = tuple(sorted(types))
        return self.type_keys[kind]

    def _called(self, at: int, attr: Any, key: str) -> None:
        if key in attr:
            for function in (attr[key].func, *attr[key].list.func):
                if function.name:
                    self.calls.setdefault(function.name, []).append(at)

    def edges(
        self, inputs: list[list[str]], first: int, index: dict[str, int], in_function: bool
    ) -> None:
        """Appends the edges to nodes from `first` on."""
        find, src, dst, port = index.get, self.src, self.dst, self.port
        for at, texts in enumerate(inputs, first):
            for text in texts:
                found = find(text)
                number = 0
                if found is None:
                    found, number = self._parse(text, index, in_function)
                    if found is None:
                        self.problem(
                            "unknown_input",
                            f"{self.names[at][:200]!r} has the input {text[:200]!r}, "
                            "which is not a node",
                        )
                        continue
                src.append(found)
                dst.append(at)
                port.append(number)

    def _parse(self, text: str, index: dict[str, int], in_function: bool) -> tuple[int | None, int]:
        if text[:1] == "^":
            return index.get(text[1:]), -1
        name, _, number = text.rpartition(":")
        if not number.isdecimal():
            return None, 0
        port = min(int(number[:6]), 32_767)
        found = index.get(name)
        if found is None and in_function:
            name, _, output = name.rpartition(":")
            found = index.get(name)
            if found is not None:
                port = min(port + self._first_port(self.op[found], output), 32_767)
        return found, port

    def _first_port(self, op: int, output: str) -> int:
        """Returns the position of a named output; approximate if a list of outputs precedes it."""
        known = self.first_ports.get((op, output))
        if known is None:
            signature = op_catalogue.find(self.ops.texts[op])
            names = [argument.name for argument in signature.outputs] if signature else []
            known = names.index(output) if output in names else 0
            self.first_ports[op, output] = known
        return known

    def pseudo_node(self, name: str, op: str, dtype: int, index: dict[str, int]) -> int:
        """Appends an argument or a result of a function as a node."""
        at = len(self.names)
        self.names.append(name)
        self.op.append(self.ops[op])
        self.device.append(self.devices[""])
        key = (op, int(op == "_Retval"), (("T", dtype),))
        self.leaf.append(self.leaves.setdefault(key, len(self.leaves)))
        index.setdefault(name, at)
        return at

    def function(self, definition: Any, function_names: set[str]) -> Function:
        first = len(self.names)
        index: dict[str, int] = {}
        signature = definition.signature
        for argument in signature.input_arg:
            self.pseudo_node(argument.name, "_Arg", argument.type, index)
        body = len(self.names)
        inputs = self.nodes(definition.node_def, index, function_names)
        self.edges(inputs, body, index, True)
        returned = definition.ret
        for result in signature.output_arg:
            at = self.pseudo_node(result.name, "_Retval", result.type, {})
            text = returned.get(result.name) or ""
            found = index.get(text)
            number = 0
            if found is None:
                found, number = self._parse(text, index, True)
            if found is None:
                self.problem(
                    "unknown_input",
                    f"result {result.name[:200]!r} of function {signature.name[:200]!r} is "
                    f"{text[:200]!r}, which is not a node",
                )
                continue
            self.src.append(found)
            self.dst.append(at)
            self.port.append(number)
        return Function(signature.name, first, len(self.names))


def read_columns(graph_def: Any) -> GraphColumns:
    """Returns the columns of a GraphDef.

    Raises: GraphTooLarge beyond NODE_LIMIT nodes.
    """
    total = len(graph_def.node) + sum(len(f.node_def) for f in graph_def.library.function)
    if total > NODE_LIMIT:
        raise GraphTooLarge(f"the graph has {total} nodes; the board shows {NODE_LIMIT}")
    reader = _Reader()
    names = {function.signature.name for function in graph_def.library.function}
    index: dict[str, int] = {}
    reader.edges(reader.nodes(graph_def.node, index, names), 0, index, False)
    functions = [reader.function(f, names) for f in graph_def.library.function]
    _excuse_pytorch(reader)
    home = np.full(len(reader.names), -1, np.int32)
    for number, function in enumerate(functions):
        home[function.first : function.end] = number
        function.callers = reader.calls.get(function.name, [])
    return GraphColumns(
        names=reader.names,
        home=home,
        ops=reader.ops.texts,
        op=np.array(reader.op, np.uint16),
        devices=reader.devices.texts,
        device=np.array(reader.device, np.uint16),
        leaves=[_leaf_text(*key) for key in reader.leaves],
        leaf=np.array(reader.leaf, np.int32),
        leaf_op=np.array([reader.ops[key[0]] for key in reader.leaves], np.int32),
        edge_src=np.array(reader.src, np.int32),
        edge_dst=np.array(reader.dst, np.int32),
        edge_port=np.array(reader.port, np.int16),
        functions=functions,
        problems=reader.problems,
    )


def _excuse_pytorch(reader: _Reader) -> None:
    """PyTorch's add_graph names the parameters as inputs, but does not write them as nodes."""
    if any(op.startswith(("aten::", "prim::")) for op in reader.ops):
        count, text = reader.problems.pop("unknown_input", (0, ""))
        if count:
            reader.problems[LEFT_OUT] = (
                count,
                f"PyTorch's graph writer leaves out some inputs, mostly parameters: {text}",
            )


def _leaf_text(op: str, arity: int, types: tuple[tuple[str, int], ...]) -> str:
    """Returns a text such as `MatMul(2) T=float`, the same in every graph."""
    known = [f"{key}={TYPE_NAMES.get(number, number)}" for key, number in types]
    return " ".join([f"{op}({arity})", *known])
