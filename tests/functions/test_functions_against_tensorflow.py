"""TensorFlow runs the functions that Headrace writes, and Headrace reads TensorFlow's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import NOT_IN_TENSORFLOW, PROGRAMS, X, close

import headrace.graph as hr

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def tf() -> Any:
    import os

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    tensorflow = pytest.importorskip("tensorflow")
    tensorflow.compat.v1.disable_v2_behavior()
    return tensorflow


def _run(tf: Any, fetches: list[Any], feeds: dict[Any, Any]) -> list[Any]:
    """Runs the default graph of Headrace in TensorFlow, after its variables' initialisers."""
    graph = hr.get_default_graph()
    init = [v.initializer.name for v in hr.global_variables()]
    message = tf.compat.v1.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    with tf.Graph().as_default():
        tf.import_graph_def(message, name="")
        with tf.compat.v1.Session() as session:
            for name in init:
                session.run(name)
            return session.run([t.name for t in fetches], {t.name: v for t, v in feeds.items()})


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in NOT_IN_TENSORFLOW])
def test_tensorflow_runs_a_program_with_functions(name: str, tf: Any) -> None:
    for run in PROGRAMS[name]():
        run.check(_run(tf, run.fetches, run.feeds))


def _imported(message: Any) -> Any:
    hr.import_graph_def(message.SerializeToString(), name="")
    return hr.get_default_graph()


def test_a_defun_of_tensorflow_is_differentiated(tf: Any) -> None:
    from tensorflow.python.framework import function

    with tf.Graph().as_default() as theirs:

        @function.Defun(tf.float32, tf.float32)
        def f(x: Any, y: Any) -> Any:
            return tf.sin(x) * y, tf.split(x, 3)[0]

        x = tf.compat.v1.placeholder(tf.float32, [3], name="x")
        tf.identity(f(x, 2.0)[0], name="y")
    graph = _imported(theirs.as_graph_def())
    x, y = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("y:0")
    (grad,) = hr.gradients(y, x)
    close(_run(tf, [grad], {x: X})[0], 2 * np.cos(X))


def test_a_function_of_tensorflow_2_is_differentiated(tf: Any) -> None:
    with tf.Graph().as_default() as theirs:
        v = tf.Variable(3.0, use_resource=True, name="v")

        @tf.function
        def f(x: Any) -> Any:
            chosen = tf.cond(x > 1.0, lambda: x * v, lambda: x) * tf.random.uniform([], 1, 2)
            power = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), [0, 1.0])[1]
            return chosen, power

        x = tf.compat.v1.placeholder(tf.float32, [], name="x")
        a, b = f(x)
        tf.identity(a, name="a"), tf.identity(b, name="b")
        initializer = v.initializer.name
    graph = _imported(theirs.as_graph_def())
    x, a, b = (graph.get_tensor_by_name(f"{name}:0") for name in "xab")
    assert a.shape.as_list() == b.shape.as_list() == []
    grads = hr.gradients(b, x) + hr.gradients(a, x)
    message = tf.compat.v1.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    with tf.Graph().as_default():
        tf.import_graph_def(message, name="")
        with tf.compat.v1.Session() as session:
            session.run(initializer)
            for value, factor in ((2.0, 3.0), (0.5, 1.0)):
                fetches = [t.name for t in (a, b, *grads)]
                a_found, b_found, db, da = session.run(fetches, {x.name: value})
                close([b_found, db, da], [value**3, 3 * value**2, a_found / value])
                assert value * factor <= a_found <= value * factor * 2


def test_a_function_is_equal_after_tensorflow_read_it(tf: Any) -> None:
    @hr.function
    def inner(x: Any) -> Any:
        return hr.nn.dropout(x, 0.5)

    @hr.functions.Defun(hr.float32, noinline=True)
    def f(x: Any) -> Any:
        return inner(x), x * 2.0

    f(hr.constant([1.0, 2.0]))
    ours = hr.get_default_graph().as_graph_def()
    with tf.Graph().as_default() as theirs:
        tf.import_graph_def(tf.compat.v1.GraphDef.FromString(ours.SerializeToString()), name="")
    library = {f.signature.name: f for f in theirs.as_graph_def().library.function}
    assert library.keys() == {f.signature.name for f in ours.library.function}
    for mine in ours.library.function:
        other = type(mine).FromString(library[mine.signature.name].SerializeToString())
        assert [n.name for n in other.node_def] == [n.name for n in mine.node_def]
        assert other.ret == mine.ret
        assert other.signature.is_stateful == mine.signature.is_stateful
