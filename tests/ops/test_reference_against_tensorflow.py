"""The reference kernels give what real TensorFlow gives, case by case (needs TensorFlow)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import ALL, Case
from tolerances import assert_same

from headrace.formats import op_catalogue
from headrace.formats.dtypes import as_dtype
from headrace.kernels.reference import oracle

pytestmark = pytest.mark.peer


def run_tensorflow(case: Case, dtype: str) -> list[np.ndarray] | None:
    """The outputs of TensorFlow's kernel; None where it has none for these types."""
    import tensorflow as tf

    values = case.values(dtype)
    graph_def = tf.compat.v1.GraphDef()
    graph_def.versions.producer = 6  # before old ops were taken away
    graph_def.library.SetInParent()
    node = graph_def.node.add(name="it", op=case.op)
    feeds: dict[str, np.ndarray] = {}
    for value in [one for v in values for one in (v if isinstance(v, list) else [v])]:
        name = f"x{len(feeds)}"
        feed = graph_def.node.add(name=name, op="Placeholder")
        feed.attr["dtype"].type = int(as_dtype(value.dtype))
        feed.attr["shape"].shape.CopyFrom(tf.TensorShape(value.shape).as_proto())
        node.input.append(name)
        feeds[f"{name}:0"] = value
    signature = op_catalogue.signature(case.op)
    attrs = oracle.complete_attrs(case.op, values, case.attributes(dtype))
    kinds = {attr.name: attr.kind for attr in signature.attrs}
    for name, value in attrs.items():
        _set_attr(node.attr[name], kinds[name], value)
    count = _count_of_outputs(signature, attrs)
    config = tf.compat.v1.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def, name="")
        fetches = [f"it:{i}" for i in range(count)] or ["it"]
        try:
            with tf.compat.v1.Session(config=config) as session:
                results = session.run(fetches, feeds)
        except tf.errors.OpError as error:
            if any(said in str(error) for said in _NO_KERNEL):
                return None
            raise
    return [
        np.array(value, object) if isinstance(value, bytes) else np.asarray(value)
        for value in results
        if value is not None
    ]


def _set_attr(attr: Any, kind: str, value: Any) -> None:
    import tensorflow as tf

    if kind.startswith("list("):
        attr.list.SetInParent()
        for one in value:
            if kind == "list(shape)":
                attr.list.shape.append(tf.TensorShape(one).as_proto())
            else:
                getattr(attr.list, _FIELD[kind[5:-1]]).append(one)
    elif kind == "shape":
        attr.shape.CopyFrom(tf.TensorShape(value).as_proto())
    elif kind == "tensor":
        attr.tensor.CopyFrom(tf.make_tensor_proto(value))
    else:
        setattr(attr, _FIELD[kind], value)


_FIELD = {"type": "type", "int": "i", "float": "f", "bool": "b", "string": "s"}


def _count_of_outputs(signature: op_catalogue.Signature, attrs: dict[str, Any]) -> int:
    return sum(
        attrs[arg.number_attr]
        if arg.number_attr
        else len(attrs[arg.type_list_attr])
        if arg.type_list_attr
        else 1
        for arg in signature.outputs
    )


_NO_KERNEL = (
    "No OpKernel was registered",
    "not implemented",
    "not yet support",
    "only supports",
    "not supported",
    "No WhereOp available",
)


@pytest.mark.parametrize(
    "case", [c for c in ALL if c.exact and c.in_tensorflow], ids=lambda c: c.name
)
def test_reference_agrees_with_tensorflow(case: Case) -> None:
    compared = 0
    for dtype in case.types():
        expected = run_tensorflow(case, dtype)
        if expected is None:
            continue
        got = oracle.run(case.op, *case.values(dtype), **case.attributes(dtype))
        assert len(got) == len(expected)
        for number, (one, other) in enumerate(zip(got, expected, strict=True)):
            if number not in case.undefined:
                assert_same(case.op, one, other)
        compared += 1
    assert compared, "TensorFlow has a kernel for none of the types"
