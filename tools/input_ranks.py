"""Finds with TensorFlow which ranks the inputs of each op may have; prints the table of formats.

    TENSORFLOW_PYTHON tools/input_ranks.py OP_NAMES_FILE > .../formats/ops/input_ranks.txt

For every op, input and rank a graph is imported whose other inputs have unknown shapes: what
TensorFlow's shape functions reject is not a rank for that input.
"""

from __future__ import annotations

import sys

import tensorflow as tf
from tensorflow.python.framework import op_def_registry

v1 = tf.compat.v1
RANKS = 8
FIELD = {"type": "type", "int": "i", "float": "f", "bool": "b", "string": "s", "shape": "shape"}


def main() -> None:
    for name in open(sys.argv[1]).read().split():
        definition = op_def_registry.get(name)
        if definition is None or not definition.input_arg:
            continue
        masks = None
        for attrs in attributes(definition):
            if not accepted(definition, attrs, {}):
                continue
            found = [ranks(definition, attrs, i) for i in range(len(definition.input_arg))]
            masks = found if masks is None else [a | b for a, b in zip(masks, found)]
        if masks and any(len(m) < RANKS + 1 for m in masks):
            print(name, *map(shown, masks), flush=True)


def shown(mask: set[int]) -> str:
    if len(mask) == RANKS + 1:
        return "*"
    low, high = min(mask, default=0), max(mask, default=0)
    if mask == set(range(low, high + 1)):
        return str(low) if low == high else f"{low}+" if high == RANKS else f"{low}-{high}"
    return ",".join(map(str, sorted(mask)))


def attributes(definition):
    """Sets of attributes: each text and each flag in its turn, the rest plain."""
    choices = []
    for attr in definition.attr:
        allowed = attr.allowed_values.list
        if attr.type == "string" and allowed.s:
            choices.append([(attr, v) for v in allowed.s])
        elif attr.type == "bool":
            choices.append([(attr, False), (attr, True)])
        elif attr.type in ("type", "list(type)"):
            kinds = [t for t in allowed.type if t in (1, 3, 9)] or list(allowed.type) or [1]
            choices.append([(attr, kinds[0])])
        elif attr.type in ("int", "list(int)"):
            least = max(attr.minimum if attr.has_minimum else 1, 1)
            default = attr.type == "int" and attr.HasField("default_value")
            choices.append([(attr, attr.default_value.i if default else least)])
        else:
            choices.append([(attr, None)])
    # Not the whole product: one attribute is varied at a time.
    plain = [c[0] for c in choices]
    yield plain
    for place, options in enumerate(choices):
        for option in options[1:]:
            yield [*plain[:place], option, *plain[place + 1 :]]
    for attr in definition.attr:
        if attr.type == "list(int)":
            for n in (4, 5):
                yield [(a, [1] * n if a.type == "list(int)" else v) for a, v in plain]


def accepted(definition, attrs, shapes) -> bool:
    graph = v1.GraphDef()
    graph.versions.producer = 6 if definition.HasField("deprecation") else 1000
    node = graph.node.add(name="it", op=definition.name)
    values = {}
    for attr, value in attrs:
        out = node.attr[attr.name]
        if value is None or (
            attr.HasField("default_value")
            and attr.type not in ("bool", "string", "type", "list(type)", "list(int)")
        ):
            if attr.HasField("default_value"):
                out.CopyFrom(attr.default_value)
            elif attr.type == "shape":
                out.shape.unknown_rank = True
            elif attr.type == "float":
                out.f = 0.5
            elif attr.type == "string":
                out.s = b"x"
            elif attr.type == "tensor":
                out.tensor.CopyFrom(tf.make_tensor_proto(1.0))
            elif attr.type == "func":
                out.func.name = "f"
            else:
                out.list.SetInParent()
                if attr.type == "list(shape)":
                    for _ in range(max(attr.minimum, 1)):
                        out.list.shape.add().unknown_rank = True
                if attr.type == "list(float)":
                    out.list.f.extend([0.5, 1.0])
                if attr.type == "list(string)":
                    out.list.s.extend([b"x"] * max(attr.minimum, 1))
        elif attr.type == "list(int)":
            if isinstance(value, list):
                out.list.i.extend(value)
            elif attr.HasField("default_value"):
                out.CopyFrom(attr.default_value)
            else:
                out.list.i.extend([1] * 4)
        elif attr.type == "list(type)":
            out.list.type.extend([value] * max(attr.minimum, 1))
            values[attr.name] = [value] * max(attr.minimum, 1)
        else:
            setattr(out, FIELD[attr.type], value)
            values[attr.name] = value
    for place, arg in enumerate(definition.input_arg):
        if arg.type_list_attr:
            kinds = values[arg.type_list_attr]
        else:
            kind = arg.type or values[arg.type_attr]
            kinds = [kind] * (values.get(arg.number_attr, 1) if arg.number_attr else 1)
        for k, kind in enumerate(kinds):
            feed = graph.node.add(name=f"x{place}_{k}", op="Placeholder")
            feed.attr["dtype"].type = kind
            rank = shapes.get(place)
            if arg.is_ref:
                feed.op = "VariableV2"
            if rank is None:
                feed.attr["shape"].shape.unknown_rank = True
            else:
                feed.attr["shape"].shape.SetInParent()
                for _ in range(rank):
                    feed.attr["shape"].shape.dim.add(size=-1)
            node.input.append(feed.name)
    try:
        with tf.Graph().as_default():
            tf.import_graph_def(graph, name="")
        return True
    except Exception:
        return False


def ranks(definition, attrs, place) -> set[int]:
    return {r for r in range(RANKS + 1) if accepted(definition, attrs, {place: r})}


main()
