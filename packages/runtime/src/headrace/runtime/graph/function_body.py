"""Bodies of function calls, as GraphDef messages: a FunctionDef with its attributes bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from headrace.formats import op_catalogue
from headrace.formats.errors import InvalidArgumentError, NotFoundError
from headrace.formats.op_def_signature import from_op_def
from headrace.formats.op_signature import NO_DEFAULT, TYPE_NAMES, Arg, Signature
from headrace.formats.proto.graph_pb2 import FunctionDef, FunctionDefLibrary, GraphDef, NodeDef
from headrace.formats.proto.op_pb2 import AttrValue, NameAttrList
from headrace.formats.services import find_service
from headrace.runtime.graph.effect_ends import ends_of

Attrs = Mapping[str, AttrValue]

# Stateful ops that nothing can observe but the readers of their outputs.
_SOURCES = frozenset({"ReadVariableOp", "VarIsInitializedOp", "IsVariableInitialized"})
_SOURCE_FAMILIES = frozenset({"random", "candidate_sampling"})


@dataclass
class CallBody:
    """The nodes that compute a call.

    Attributes:
      graph_def: the nodes; `_Arg` nodes stand for the inputs of the call, by attribute `index`.
      outputs: tensor of the body for each output of the call.
      effects: nodes that run whenever the call runs, also if nothing reads an output.
      done: the node that control edges from the call start at.
      start: the node that the call's control edges lead to, and that runs where the call would, in
        its frame and under its condition; "" if the body needs none.
    """

    graph_def: GraphDef = field(default_factory=GraphDef)
    outputs: list[str] = field(default_factory=list)
    effects: list[str] = field(default_factory=list)
    done: str = ""
    start: str = ""

    def add(self, name: str, op: str, inputs: Iterable[str] = (), **attrs: Any) -> str:
        """Adds a node; attributes are AttrValue messages, DataType numbers, strings or bools."""
        node = self.graph_def.node.add(name=name, op=op, input=inputs)
        for key, value in attrs.items():
            set_attr(node.attr[key], value)
        return name

    def add_arguments(self, prefix: str, dtypes: Iterable[int]) -> list[str]:
        """Adds an `_Arg` node for each input of the call."""
        return [
            self.add(f"{prefix}/_arg{i}", "_Arg", T=Type(dtype), index=i)
            for i, dtype in enumerate(dtypes)
        ]


class Type(int):
    """A DataType number as an attribute value."""


def set_attr(attr: AttrValue, value: Any) -> None:
    if isinstance(value, AttrValue):
        attr.CopyFrom(value)
    elif isinstance(value, NameAttrList):
        attr.func.CopyFrom(value)
    elif isinstance(value, Type):
        attr.type = value
    elif isinstance(value, bool):
        attr.b = value
    elif isinstance(value, int):
        attr.i = value
    elif isinstance(value, str):
        attr.s = value.encode()
    else:
        attr.list.type.extend(value)


class _Facts(NamedTuple):
    """What calls of a function need to know; a function of another library has none of it."""

    size: int
    has_effects: bool


class FunctionLibrary:
    """The functions of a graph by name, with the facts that calls need."""

    def __init__(self) -> None:
        self._functions: dict[str, FunctionDef] = {}
        self._signatures: dict[str, Signature] = {}
        self._facts: dict[str, _Facts] = {}
        self._gradients: dict[bytes, str] = {}
        self._named_gradients: dict[str, str] = {}
        self._differentiate: Callable[[bytes, bytes], bytes] | None = None

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def values(self) -> Iterable[FunctionDef]:
        return self._functions.values()

    def find(self, name: str) -> FunctionDef | None:
        return self._functions.get(name)

    def add(self, functions: Mapping[str, FunctionDef]) -> None:
        self._functions.update(functions)
        self._facts.clear()

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            self._functions.pop(name, None)
            self._signatures.pop(name, None)
        self._facts.clear()

    def set_gradients(self, names: Mapping[str, str]) -> None:
        """Names the gradients of functions, as GradientDefs do."""
        self._named_gradients.update(names)

    def gradient_of(self, function: NameAttrList) -> str:
        """Returns the name of a function's gradient, which it adds to the library.

        Raises: NotFoundError if no installed package differentiates functions, or an operation has
          no gradient.
        """
        named = self._named_gradients.get(function.name)
        if named is not None:
            return named
        key = function.SerializeToString(deterministic=True)
        name = self._gradients.get(key)
        if name is None:
            if self._differentiate is None:  # a search through what is installed takes milliseconds
                self._differentiate = find_service("headrace.function_gradients", "autodiff")
            library = self._library_of(function.name)
            try:
                wire = self._differentiate(library.SerializeToString(), key)
            except LookupError as error:
                raise NotFoundError(None, None, str(error)) from error
            made = FunctionDefLibrary.FromString(wire)
            self.add({f.signature.name: f for f in made.function})
            name = self._gradients[key] = made.function[0].signature.name
        return name

    def _library_of(self, name: str) -> FunctionDefLibrary:
        """Returns the functions that the gradient of a function may call, and their gradients."""
        library = FunctionDefLibrary()
        for function in self.reachable(name, gradients=True):
            library.function.append(function)
            gradient = self._named_gradients.get(function.signature.name)
            if gradient is not None:
                library.gradient.add(function_name=function.signature.name, gradient_func=gradient)
        return library

    def signature(self, op: str) -> Signature:
        """Returns the signature of a function or of an op of the catalogue."""
        found = self._signatures.get(op)
        if found is None:
            function = self._functions.get(op)
            if function is None:
                return op_catalogue.signature(op)
            found = self._signatures[op] = from_op_def(function.signature)
        return found

    def types(self, function: NameAttrList) -> tuple[list[int], list[int]]:
        """Returns the dtypes of a function's parameters and results, with its attributes bound.

        Raises: NotFoundError for an unknown function; InvalidArgumentError for a missing attribute.
        """
        definition = self._functions.get(function.name)
        if definition is None:
            raise NotFoundError(None, None, f"Function {function.name} is not defined.")
        attrs = _with_defaults(definition, function.attr)
        signature = self.signature(function.name)

        def error(problem: str) -> InvalidArgumentError:
            return InvalidArgumentError(None, None, f"Function '{function.name}': {problem}")

        return (
            [dtype for arg in signature.inputs for dtype in _dtypes(arg, attrs, error)],
            [dtype for arg in signature.outputs for dtype in _dtypes(arg, attrs, error)],
        )

    def reachable(self, name: str, gradients: bool = False) -> list[FunctionDef]:
        """Returns a function and those that it calls; also their named gradients, if asked for."""
        found: dict[str, FunctionDef] = {}
        names = [name]
        while names:
            definition = self._functions.get(name := names.pop())
            if definition is None or name in found:
                continue
            found[name] = definition
            if gradients and name in self._named_gradients:
                names.append(self._named_gradients[name])
            for node in definition.node_def:
                names += [node.op, *called_by(node)]
        return list(found.values())

    def has_effects(self, name: str) -> bool:
        """Whether a call of a function does more than compute its outputs."""
        return self._facts_of(name).has_effects

    def size(self, name: str) -> int:
        """The number of nodes of a function's body, with the bodies of the calls in it."""
        return self._facts_of(name).size

    def is_effect(self, node: NodeDef) -> bool:
        """Whether a node runs whenever its function is called."""
        called = [*called_by(node), *([node.op] if node.op in self._functions else [])]
        if called:
            return any(self.has_effects(name) for name in called)
        signature = op_catalogue.find(node.op)
        return (
            signature is not None
            and signature.stateful
            and bool(node.input or not signature.outputs)
            and node.op not in _SOURCES
            and op_catalogue.family(node.op) not in _SOURCE_FAMILIES
        )

    def _facts_of(self, name: str) -> _Facts:
        found = self._facts.get(name)
        if found is not None:
            return found
        path = [name]
        while path:
            function = self._functions.get(path[-1])
            nodes = function.node_def if function is not None else ()
            if path[-1] not in self._facts:
                # An expansion raises an error where a function calls itself.
                self._facts[path[-1]] = _Facts(0, False)
                path += {
                    called
                    for node in nodes
                    for called in (node.op, *called_by(node))
                    if called in self._functions and called not in self._facts
                }
                continue
            self._facts[path.pop()] = _Facts(
                sum(
                    1
                    + sum(
                        self._facts[f].size for f in (node.op, *called_by(node)) if f in self._facts
                    )
                    for node in nodes
                ),
                any(self.is_effect(node) for node in nodes),
            )
        return self._facts[name]

    def body(
        self, call: str, function: NameAttrList, inputs: list[int], outputs: list[int], start: str
    ) -> CallBody:
        """Makes the nodes of a call.

        Args:
          call: name of the calling node; the body's names begin with it.
          function: name of the function, and values of its attributes.
          inputs, outputs: dtypes of the call's tensors.
          start: what the nodes without inputs and, if the call has control inputs, the readers of
            arguments wait for: "": nothing; "inputs": only nodes without inputs wait; "all".
        Raises: NotFoundError for an unknown function; InvalidArgumentError if the call does not fit
          its signature.
        """
        definition = self._functions.get(function.name)
        if definition is None:
            raise NotFoundError(
                None, None, f"Function {function.name} is not defined.", node_name=call
            )
        return _Instantiation(self, call, definition, function.attr, inputs, outputs, start).body


def called_by(node: NodeDef) -> Iterator[str]:
    """The functions that attributes of a node name."""
    for attr in node.attr.values():
        kind = attr.WhichOneof("value")
        if kind == "func":
            yield attr.func.name
        elif kind == "list":
            for function in attr.list.func:
                yield function.name


def _with_defaults(definition: FunctionDef, attrs: Attrs) -> Attrs:
    bound = {key: value for key, value in attrs.items() if not key.startswith("_")}
    for attr in definition.signature.attr:
        if attr.name not in bound and attr.HasField("default_value"):
            bound[attr.name] = attr.default_value
    return bound


def _dtypes(arg: Arg, attrs: Attrs, error: Callable[[str], InvalidArgumentError]) -> list[int]:
    """The dtypes of the tensors of a parameter or result; `error` makes that of a problem."""

    def value(name: str) -> AttrValue:
        if name not in attrs:
            raise error(f"attribute '{name}' is missing")
        return attrs[name]

    dtype = arg.dtype
    if arg.type_list_attr:
        return list(value(arg.type_list_attr).list.type)
    if arg.type_attr:
        dtype = value(arg.type_attr).type
    count = value(arg.number_attr).i if arg.number_attr else 1
    if not 0 <= count <= 1 << 20:
        raise error(f"attribute '{arg.number_attr}' is {count}, no number of tensors")
    return [dtype] * count


class _Instantiation:
    """Makes the body of one call."""

    def __init__(
        self,
        library: FunctionLibrary,
        call: str,
        definition: FunctionDef,
        attrs: Attrs,
        inputs: list[int],
        outputs: list[int],
        start: str,
    ) -> None:
        self.library = library
        self.call = call
        self.definition = definition
        self.attrs = _with_defaults(definition, attrs)
        self.body = CallBody()
        # tensor name of the FunctionDef -> tensors of the body
        self.tensors: dict[str, list[str]] = {}
        self.arguments: set[str] = set()
        self._add_arguments(inputs)
        self.start = start
        if start:
            self.body.start = f"{call}/_start"
        for node in definition.node_def:
            self._name_outputs(node)
        for node in definition.node_def:
            self._add_node(node)
        self._find_outputs(outputs)
        self._find_ends()

    def _error(self, problem: str) -> InvalidArgumentError:
        name = self.definition.signature.name
        return InvalidArgumentError(
            None, None, f"Function '{name}', called by '{self.call}': {problem}",
            node_name=self.call,
        )  # fmt: skip

    def _add_arguments(self, dtypes: list[int]) -> None:
        index = 0
        for arg in self.library.signature(self.definition.signature.name).inputs:
            names = []
            for dtype in _dtypes(arg, self.attrs, self._error):
                if index < len(dtypes) and dtypes[index] != dtype:
                    raise self._error(
                        f"Expected input[{index}] to be {_text(dtype)}, but the call has "
                        f"{_text(dtypes[index])}"
                    )
                # No name of the definition: the second tensor of x would be x_1, as a node may be.
                names.append(
                    self.body.add(f"{self.call}/_arg{index}", "_Arg", T=Type(dtype), index=index)
                )
                index += 1
            self.tensors[arg.name] = names
            self.arguments.update(names)
        if index != len(dtypes):
            raise self._error(f"Expects {index} arguments, but {len(dtypes)} is provided")

    def _name_outputs(self, node: NodeDef) -> None:
        try:
            signature = self.library.signature(node.op)
        except NotFoundError as error:
            raise NotFoundError(
                None, None, f"{node.op} '{self.call}/{node.name}': {error.message}",
                node_name=self.call,
            ) from None  # fmt: skip
        port = 0
        for arg in signature.outputs:
            count = 1
            if arg.number_attr or arg.type_list_attr:
                count = self._length(node, signature, arg)
            self.tensors[f"{node.name}:{arg.name}"] = [
                f"{self.call}/{node.name}:{port + i}" for i in range(count)
            ]
            port += count

    def _length(self, node: NodeDef, signature: Signature, arg: Arg) -> int:
        name = arg.number_attr or arg.type_list_attr
        if name not in node.attr:
            default = next((a.default for a in signature.attrs if a.name == name), NO_DEFAULT)
            if default is NO_DEFAULT:
                raise self._error(f"node '{node.name}': attribute '{name}' is missing")
            return default if arg.number_attr else len(default)
        value = self._bound(node.attr[name], node.name)
        length = value.i if arg.number_attr else len(value.list.type)
        if not 0 <= length <= 1 << 20:
            raise self._error(f"node '{node.name}': attribute '{name}' is {length}")
        return length

    def _bound(self, value: AttrValue, node: str) -> AttrValue:
        if value.WhichOneof("value") != "placeholder":
            return value
        try:
            return self.attrs[value.placeholder]
        except KeyError:
            raise self._error(
                f"node '{node}': the call does not set the attribute '{value.placeholder}'"
            ) from None

    def _add_node(self, source: NodeDef) -> None:
        node = self.body.graph_def.node.add(
            name=f"{self.call}/{source.name}", op=source.op, device=source.device
        )
        reads_argument = False
        controls = []
        for written in source.input:
            if written.startswith("^"):
                controls += self._controls(written[1:])
                continue
            for tensor in self._tensors(written, source.name):
                node.input.append(tensor)
                reads_argument = reads_argument or tensor in self.arguments
        if self.start and (
            not (node.input or controls) or (self.start == "all" and reads_argument)
        ):
            controls.append(f"^{self.body.start}")
        node.input.extend(controls)
        for key, value in source.attr.items():
            if key == "_class":
                continue  # locations name nodes of the function; the body has one device
            self._copy_attr(node.attr[key], value, source.name)
        if "frame_name" in node.attr:  # frames of one name are one, also those of two calls
            node.attr["frame_name"].s = f"{self.call}/".encode() + node.attr["frame_name"].s
        if self.library.is_effect(source):
            self.body.effects.append(node.name)

    def _copy_attr(self, to: AttrValue, value: AttrValue, node: str) -> None:
        to.CopyFrom(self._bound(value, node))
        functions = [to.func] if to.WhichOneof("value") == "func" else to.list.func
        if to.WhichOneof("value") in ("func", "list"):
            for function in functions:
                for key in list(function.attr):
                    function.attr[key].CopyFrom(self._bound(function.attr[key], node))

    def _controls(self, name: str) -> list[str]:
        """The control inputs that wait for a node or an argument of the function."""
        nodes = self.tensors.get(name, [f"{self.call}/{name}"])
        return [f"^{node}" for node in nodes]

    def _tensors(self, written: str, reader: str) -> list[str]:
        """The tensors that an input of the FunctionDef names: "arg", "arg:1", "node:out:0"."""
        found = self.tensors.get(written)
        if found is not None:
            return found
        stem, _, index = written.rpartition(":")
        found = self.tensors.get(stem)
        if found is None or not index.isdigit() or int(index) >= len(found):
            raise self._error(f"node '{reader}': input {written} is not found")
        return [found[int(index)]]

    def _find_outputs(self, dtypes: list[int]) -> None:
        arguments = self.library.signature(self.definition.signature.name).outputs
        actual: list[int] = []
        for arg in arguments:
            if arg.name not in self.definition.ret:
                raise self._error(f"Return value '{arg.name}' is missing")
            expected = _dtypes(arg, self.attrs, self._error)
            tensors = self._tensors(self.definition.ret[arg.name], arg.name)
            if len(tensors) != len(expected):
                raise self._error(
                    f"Return value '{arg.name}' has {len(tensors)} tensors instead of "
                    f"{len(expected)}"
                )
            self.body.outputs.extend(tensors)
            actual.extend(expected)
        if len(actual) != len(dtypes):
            raise self._error(f"returns {len(actual)} values, the call has {len(dtypes)} outputs")
        for i, (mine, theirs) in enumerate(zip(actual, dtypes, strict=True)):
            if mine != theirs:
                raise self._error(
                    f"Expected output[{i}] to be {_text(mine)}, but the call has {_text(theirs)}"
                )

    def _find_ends(self) -> None:
        names = [f"{self.call}/{name}" for name in self.definition.control_ret.values()]
        effects = dict.fromkeys([*self.body.effects, *names])
        self.body.effects = list(effects)
        inner = [name.removeprefix(f"{self.call}/") for name in effects]
        waits = [f"{self.call}/{name}" for name in ends_of(self.definition.node_def, inner)]
        ends = dict.fromkeys([*waits, *(t.rpartition(":")[0] or t for t in self.body.outputs)])
        self.body.done = self.body.add(f"{self.call}/_done", "NoOp", [f"^{end}" for end in ends])


def _text(dtype: int) -> str:
    return TYPE_NAMES.get(dtype, f"DataType {dtype}")
