"""The graph of objects whose variables and positions train.Checkpoint saves, and the keys of their
values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.variables.variable import Variable

_VALUE = "VARIABLE_VALUE"


class SavedObject:
    """An object without attributes to follow, with at most one value that a checkpoint keeps.

    A subclass sets _saved_name: the name of the value in its key; "" for none.
    """

    _saved_name = ""

    def _saved_tensor(self) -> Tensor:
        """Returns the value, made by operations of the default graph."""
        raise NotImplementedError

    def _restored_from(self, value: Tensor) -> Operation:
        """Returns the operation that sets the value."""
        raise NotImplementedError


def is_trackable(value: object) -> bool:
    """Returns whether an object, list or dict holds variables, now or later."""
    if isinstance(value, (Variable, SavedObject)) or hasattr(value, "_trackable_children"):
        return True
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and is_trackable(v) for key, v in value.items())
    if isinstance(value, (list, tuple)):
        return all(map(is_trackable, value))
    return _has_slots(value) or _has_weights(value)


def _has_slots(value: object) -> bool:
    return hasattr(value, "get_slot_names") and hasattr(value, "get_slot")


def _has_weights(value: object) -> bool:
    return hasattr(value, "weights") and hasattr(value, "add_weight")


def children_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Yields (name, object) of the trackable attributes or elements of an object."""
    if isinstance(value, (Variable, SavedObject)):
        return
    if hasattr(value, "_trackable_children"):
        yield from value._trackable_children()  # noqa: SLF001
    elif isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, (list, tuple)):
        yield from ((str(i), item) for i, item in enumerate(value))
    elif _has_slots(value):
        yield from ((name, v) for (name, _), v in value._non_slots.items())  # noqa: SLF001
    else:
        for name, item in vars(value).items():
            if not name.startswith("_") and is_trackable(item):
                yield name, item


class ObjectGraph:
    """The objects that can be reached from a root, breadth first.

    Attributes:
      message: the TrackableObjectGraph.
      values: the variables and SavedObjects by the key of their value.
    """

    def __init__(self, root: Any) -> None:
        from headrace.formats.proto.trackable_object_graph_pb2 import TrackableObjectGraph

        self.message = TrackableObjectGraph()
        self.values: dict[str, Variable | SavedObject] = {}
        self._objects = [root]
        self._numbers = {id(root): 0}
        self._paths = [""]
        for number, value in enumerate(self._objects):  # the list grows
            node = self.message.nodes.add()
            for name, child in children_of(value):
                at = self._number(child, _join(self._paths[number], _escaped(name)))
                node.children.add(node_id=at, local_name=name)
        for number, value in enumerate(list(self._objects)):
            if kept := name_of_value(value):
                self._add_value(number, value, kept)
            elif _has_slots(value):
                self._add_slots(number, value)

    def _number(self, value: Any, path: str) -> int:
        found = self._numbers.get(id(value))
        if found is None:
            found = self._numbers[id(value)] = len(self._objects)
            self._objects.append(value)
            self._paths.append(path)
        return found

    def _add_value(self, number: int, value: Variable | SavedObject, name: str) -> None:
        key = _join(self._paths[number], ".ATTRIBUTES", name)
        self.values[stored_key(key, name)] = value
        full_name = value.op.name if isinstance(value, Variable) else ""
        self.message.nodes[number].attributes.add(
            name=name, full_name=full_name, checkpoint_key=key
        )

    def _add_slots(self, number: int, optimizer: Any) -> None:
        """Adds the slots of an optimizer that belong to variables of the graph."""
        for at, variable in enumerate(list(self._objects)):
            if not isinstance(variable, Variable):
                continue
            for name in optimizer.get_slot_names():
                slot = optimizer.get_slot(variable, name)
                if slot is None or id(slot) in self._numbers:
                    continue
                path = _join(self._paths[at], ".OPTIMIZER_SLOT", self._paths[number], name)
                place = self._number(slot, path)
                self.message.nodes.add()
                self._add_value(place, slot, _VALUE)
                self.message.nodes[number].slot_variables.add(
                    original_variable_node_id=at, slot_name=name, slot_variable_node_id=place
                )

    def matched(self, message: Any) -> dict[str, Variable | SavedObject]:
        """Returns values by their keys in another graph, matched by names from the root."""
        found: dict[str, Variable | SavedObject] = {}
        pairs = {0: 0}  # node of the other graph -> of this one
        ahead = [0]
        while ahead:
            other = ahead.pop(0)
            mine = pairs[other]
            names = {c.local_name: c.node_id for c in self.message.nodes[mine].children}
            for child in message.nodes[other].children:
                if child.local_name in names and child.node_id not in pairs:
                    pairs[child.node_id] = names[child.local_name]
                    ahead.append(child.node_id)
        for other, mine in list(pairs.items()):
            slots = {
                (s.original_variable_node_id, s.slot_name): s.slot_variable_node_id
                for s in self.message.nodes[mine].slot_variables
            }
            for slot in message.nodes[other].slot_variables:
                place = slots.get((pairs.get(slot.original_variable_node_id, -1), slot.slot_name))
                if place is not None:
                    pairs[slot.slot_variable_node_id] = place
        for other, mine in pairs.items():
            value = self._objects[mine]
            for attribute in message.nodes[other].attributes:
                if attribute.name == name_of_value(value):
                    found[stored_key(attribute.checkpoint_key, attribute.name)] = value
        return found


def name_of_value(value: object) -> str | None:
    """Returns the name of the value that a checkpoint keeps of an object; None or "" for none."""
    if isinstance(value, Variable):
        return _VALUE
    return value._saved_name if isinstance(value, SavedObject) else None


def stored_key(key: str, name: str) -> str:
    """Returns the key in the checkpoint's files of a value that the object graph has by a key."""
    return key if name == _VALUE else f"{key}_STATE"


def _escaped(name: str) -> str:
    """Escapes a local name: keys separate names by slashes, and begin parts of theirs with dots."""
    return name.replace(".", "..").replace("/", ".S")


def _join(*parts: str) -> str:
    return "/".join([part for part in parts if part])
