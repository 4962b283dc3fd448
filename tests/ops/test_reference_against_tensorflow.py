"""The reference kernels give what real TensorFlow gives, case by case (needs TensorFlow)."""

from __future__ import annotations

import numpy as np
import pytest
from cases import ALL, Case
from one_node import one_node
from tolerances import assert_same

from headrace.kernels.reference import oracle

pytestmark = pytest.mark.peer

_NO_KERNEL = (
    "No OpKernel was registered",
    "not implemented",
    "not yet support",
    "only supports",
    "not supported",
    "No WhereOp available",
    "cannot be converted to a boolean",
)


def run_tensorflow(case: Case, dtype: str) -> list[np.ndarray] | None:
    """The outputs of TensorFlow's kernel; None where it has none for these types."""
    import tensorflow as tf

    node = one_node(case, dtype)
    config = tf.compat.v1.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.Graph().as_default():
        tf.import_graph_def(tf.compat.v1.GraphDef.FromString(node.graph_def), name="")
        try:
            with tf.compat.v1.Session(config=config) as session:
                results = session.run(node.fetches or ["it"], node.feeds)
        except tf.errors.OpError as error:
            if any(text in str(error) for text in _NO_KERNEL):
                return None
            raise
    return [
        np.array(value, object) if isinstance(value, bytes) else np.asarray(value)
        for value in results
        if value is not None
    ]


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
