"""The layers of a Keras model, from the JSON that Keras writes to logs, as a GraphDef.

Functional and sequential models, nested in each other, of Keras 2 and 3. A layer is a node whose op
is the class of the layer; a model within a model is a scope. Of a subclassed model the JSON may
hold layers, but not how they are connected.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from headrace.board.graph.sources.graph_upload import NoGraphError
from headrace.formats.op_signature import TYPE_NUMBERS
from headrace.formats.proto.graph_pb2 import GraphDef

PLUGIN = "graph_keras_model"
LAYER_LIMIT = 200_000
_DEPTH_LIMIT = 60  # of models in models, and of structures of inputs
_SHARED_WITH_COLUMNS = ("layers", "input_layers", "output_layers", "name")  # the graph shows them
_INT64 = 1 << 63
_TYPE_NAMES = {"float16": "half", "float32": "float", "float64": "double"}

Reference = tuple[str, int, int]  # layer, its call, its output


def graph_of_keras_model(data: bytes) -> Any:
    """Returns the layers of a model as a GraphDef.

    Raises: NoGraphError if the bytes are not the JSON of a model.
    """
    try:
        model = json.loads(data)
    except (ValueError, RecursionError):
        raise NoGraphError("the record of this Keras model is not JSON") from None
    if not isinstance(model, dict) or not isinstance(model.get("config"), (dict, list)):
        raise NoGraphError("the JSON of this Keras model has no config")
    builder = _Builder()
    scope = _Scope("", _config(model), None)
    layers = _layers(model)
    if layers:
        builder.model(model, scope)
    else:
        builder.subclassed(model)
    if not len(builder.graph.node):
        raise NoGraphError(
            "the JSON of this Keras model has no layers, as of a subclassed model; "
            "fit() with the TensorBoard callback writes its graph of ops"
        )
    builder.connect()
    return builder.graph


@dataclass
class _Scope:
    """A model: its layers by name, and what it reads and returns."""

    prefix: str
    config: dict[str, Any]
    outer: _Scope | None
    nodes: dict[str, list[Any]] = field(default_factory=dict)  # NodeDefs of a layer, one a call
    models: dict[str, _Scope] = field(default_factory=dict)
    first: str = ""
    last: str = ""  # the last layer of a sequential model


class _Builder:
    def __init__(self) -> None:
        self.graph = GraphDef()
        self.links: list[tuple[Any, _Scope, list[Reference]]] = []
        self.shapes: dict[str, dict[int, tuple[Any, ...]]] = {}

    def model(self, model: dict[str, Any], scope: _Scope, depth: int = 0) -> None:
        """Adds the layers of a model."""
        if depth > _DEPTH_LIMIT:
            raise NoGraphError(f"models are nested deeper than {_DEPTH_LIMIT} levels")
        layers = _layers(model)
        functional = any(_triples(scope.config.get("output_layers"))) or any(
            "inbound_nodes" in layer and layer["inbound_nodes"] for layer in layers
        )
        before = ""
        for number, layer in enumerate(layers):
            if len(self.graph.node) >= LAYER_LIMIT:
                raise NoGraphError(f"the model has more than {LAYER_LIMIT} layers")
            name = _name(layer, number)
            calls = _calls(layer)
            if not functional:
                calls = [[(before, 0, 0)] if before else []]
                self._learn_input_shape(layer, before, scope)
            if _layers(layer):
                inner = _Scope(f"{scope.prefix}{name}/", _config(layer), scope)
                scope.models[name] = inner
                self.model(layer, inner, depth + 1)
                self._enter(inner, scope, calls)
            else:
                self._layer(layer, name, scope, calls)
            scope.first = scope.first or name
            scope.last = before = name

    def subclassed(self, model: dict[str, Any]) -> None:
        """Adds the layers that the config of a model or layer names, without connections."""
        scope = _Scope("", {}, None)
        for number, layer in enumerate(_layers_within(_config(model))):
            self._layer(layer, _name(layer, number), scope, [[]])

    def _layer(
        self, layer: dict[str, Any], name: str, scope: _Scope, calls: list[list[Reference]]
    ) -> None:
        nodes = scope.nodes.setdefault(name, [])
        for number, inputs in enumerate(calls or [[]]):
            node = self.graph.node.add()
            node.name = f"{scope.prefix}{name}" + (f" (call {number + 1})" if number else "")
            node.op = _class_name(layer)
            _set_attributes(node, _config(layer))
            nodes.append(node)
            self.links.append((node, scope, inputs))
        self._learn_shapes(layer, scope)

    def _enter(self, inner: _Scope, outer: _Scope, calls: list[list[Reference]]) -> None:
        """Connects the inputs of a model within a model."""
        entries = [name for name, _, _ in _triples(inner.config.get("input_layers"))]
        if not entries:
            entries = [inner.first]
        for inputs in calls:
            for at, reference in enumerate(inputs):
                entry = entries[min(at, len(entries) - 1)]
                home = inner
                while entry in home.models:  # a model that begins with a model
                    home = home.models[entry]
                    entry = home.first
                for node in home.nodes.get(entry, [])[:1]:
                    self.links.append((node, outer, [reference]))

    def connect(self) -> None:
        """Gives the nodes their inputs and shapes, when all names are known."""
        for node, scope, references in self.links:
            for reference in references:
                source = _resolve(scope, reference)
                if source:
                    node.input.append(source)
        for node in self.graph.node:
            shapes = self.shapes.get(node.name)
            if shapes:
                for at in range(max(shapes) + 1):
                    shape = node.attr["_output_shapes"].list.shape.add()
                    if at not in shapes:
                        shape.unknown_rank = True
                    for size in shapes.get(at, ()):
                        known = isinstance(size, int) and 0 <= size < _INT64
                        shape.dim.add(size=size if known else -1)

    def _learn_input_shape(self, layer: dict[str, Any], before: str, scope: _Scope) -> None:
        """The layer before, in a sequential model, makes the input that a layer was built for."""
        built = layer.get("build_config")
        shape = built.get("input_shape") if isinstance(built, dict) else None
        source = _resolve(scope, (before, 0, 0)) if before else ""
        if source and isinstance(shape, list) and not any(isinstance(n, list) for n in shape):
            self.shapes.setdefault(source, {})[0] = tuple(shape)

    def _learn_shapes(self, layer: dict[str, Any], scope: _Scope) -> None:
        """The inputs of a layer tell the shapes of the outputs that they are."""
        for tensor in _tensors(layer.get("inbound_nodes")):
            config = _config(tensor)
            shape = config.get("shape")
            for reference in _triples(config.get("keras_history")):
                source = _resolve(scope, reference)
                if source and isinstance(shape, list) and 0 <= reference[2] < 64:
                    self.shapes.setdefault(source, {})[reference[2]] = tuple(shape)


def _resolve(scope: _Scope, reference: Reference) -> str:
    """Returns the node that makes an output; "" if there is none."""
    layer, call, output = reference
    for _ in range(_DEPTH_LIMIT):
        nodes = scope.nodes.get(layer)
        if nodes:
            return str((nodes[call] if 0 <= call < len(nodes) else nodes[0]).name)
        inner = scope.models.get(layer)
        if inner is None:
            return ""
        ends = list(_triples(inner.config.get("output_layers")))
        if ends:
            layer, call, output = ends[output] if 0 <= output < len(ends) else ends[-1]
        else:
            layer, call, output = inner.last, 0, output
        scope = inner
    return ""


def _layers(model: Any) -> list[dict[str, Any]]:
    config = model.get("config")
    layers = config if isinstance(config, list) else _config(model).get("layers")
    if not isinstance(layers, list):
        return []
    return [layer for layer in layers if isinstance(layer, dict)]


def _config(layer: Any) -> dict[str, Any]:
    config = layer.get("config") if isinstance(layer, dict) else None
    return config if isinstance(config, dict) else {}


def _layers_within(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Yields the layers anywhere in a config: objects with a class and a named config."""
    if depth > _DEPTH_LIMIT:
        return
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        if isinstance(part, dict) and "class_name" in part and "name" in _config(part):
            if not str(part["class_name"]).endswith("Policy"):
                yield part
        else:
            yield from _layers_within(part, depth + 1)


def _name(layer: dict[str, Any], number: int) -> str:
    name = _config(layer).get("name") or layer.get("name")
    return name if isinstance(name, str) and name else f"layer_{number}"


def _class_name(layer: dict[str, Any]) -> str:
    name = layer.get("class_name")
    wrapped, function = _config(layer).get("layer"), _config(layer).get("activation")
    text = name if isinstance(name, str) and name else "Layer"
    if text == "Activation" and isinstance(function, str):
        return f"Activation({function})"
    if isinstance(wrapped, dict) and isinstance(wrapped.get("class_name"), str):
        return f"{text}({wrapped['class_name']})"
    return text


def _calls(layer: dict[str, Any]) -> list[list[Reference]]:
    """Returns the inputs of each call of a layer."""
    nodes = layer.get("inbound_nodes")
    if not isinstance(nodes, list):
        return []
    calls = []
    for node in nodes:
        if isinstance(node, dict):  # Keras 3
            tensors = _tensors(node)
            calls.append(
                [r for t in tensors for r in _triples(_config(t).get("keras_history"))]
            )  # fmt: skip
        else:  # Keras 2: [[name, call, output, arguments], ...]
            calls.append(list(_triples(node)))
    return calls


def _tensors(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    if depth > _DEPTH_LIMIT:
        return
    if isinstance(value, dict):
        if "keras_history" in _config(value):
            yield value
            return
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _tensors(part, depth + 1)


def _triples(value: Any, depth: int = 0) -> Iterator[Reference]:
    """Yields all [layer, call, output] within lists and objects."""
    if depth > _DEPTH_LIMIT:
        return
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return
    if (
        len(value) >= 3
        and isinstance(value[0], str)
        and all(isinstance(number, int) for number in value[1:3])
    ):
        yield value[0], value[1], value[2]
        value = value[3:]
    for part in value:
        yield from _triples(part, depth + 1)


def _set_attributes(node: Any, config: dict[str, Any]) -> None:
    for key, value in config.items():
        if key in _SHARED_WITH_COLUMNS or value is None:
            continue
        if key == "dtype":
            name = value if isinstance(value, str) else str(_config(value).get("name", ""))
            name = _TYPE_NAMES.get(name, name)
            if name in TYPE_NUMBERS:
                node.attr["dtype"].type = TYPE_NUMBERS[name]
                continue
        if isinstance(value, bool):
            node.attr[key].b = value
        elif isinstance(value, int) and -_INT64 <= value < _INT64:
            node.attr[key].i = value
        elif isinstance(value, float):
            node.attr[key].f = value
        else:
            text = value if isinstance(value, str) else json.dumps(value)
            node.attr[key].s = text.encode("utf-8", "replace")
