"""GraphDefs with functions that TensorFlow wrote give what TensorFlow gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from headrace.formats.services import SESSIONS, find_service

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]
F32 = np.float32
FEEDS: dict[str, list[list[Any]]] = {
    "calls": [[F32(3)]],
    "gradient_of_a_call": [[F32(0.5)]],
    "if_": [[np.bool_(True), F32(4)], [np.bool_(False), F32(4)]],
    "if_of_a_number": [[np.int32(3), F32(4)], [np.int32(0), F32(4)]],
    "while_": [[np.int32(0), F32(0.25)]],
    "for_": [[F32(1)]],
    "autograph": [[np.ones(3, F32), np.arange(3, dtype=F32)], [-np.ones(3, F32), np.ones(3, F32)]],
    "gradient_of_autograph": [[np.ones(3, F32), np.arange(3, dtype=F32)]],
    "calls_in_a_loop": [[F32(0.1)]],
    "calls_in_a_branch": [[np.bool_(True), F32(0.3)], [np.bool_(False), F32(0.3)]],
    "case": [[np.int32(b), F32(3)] for b in (0, 1, 2, 5, -1)],
    "loop_of_conditions": [[F32(1.1)]],
    "variable": [[F32(2)]],
}


@pytest.fixture(scope="module")
def tf() -> Any:
    import os

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    tensorflow = pytest.importorskip("tensorflow")
    tensorflow.compat.v1.disable_eager_execution()
    tensorflow.compat.v1.disable_control_flow_v2()
    return tensorflow.compat.v1


class Functions:
    """Programs of TensorFlow; each returns what to fetch."""

    def __init__(self, tf: Any) -> None:
        from tensorflow.python.framework import function
        from tensorflow.python.ops import functional_ops

        self.tf, self.ops = tf, functional_ops
        defun = function.Defun

        @defun(tf.float32, tf.float32)
        def two(x: Any, y: Any) -> Any:
            return x * y + 1.0, tf.sin(x)

        @defun(tf.float32)
        def nested(x: Any) -> Any:
            a, b = two(x, x)
            return a - b

        self.two, self.nested = two, nested
        self.double = defun(tf.float32, func_name="double")(lambda x: x * 2.0)
        self.less_five = defun(tf.float32, func_name="less_five")(lambda x: x - 5.0)
        self.seven = defun(tf.float32, func_name="seven")(lambda x: tf.constant(7.0))
        self.below_ten = defun(tf.int32, tf.float32, func_name="below_ten")(lambda i, x: i < 10)
        self.step = defun(tf.int32, tf.float32, func_name="step")(lambda i, x: (i + 1, nested(x)))
        self.add = defun(tf.int32, tf.float32, func_name="add")(
            lambda i, x: x + tf.cast(i, tf.float32)
        )

    def calls(self, x: Any) -> Any:
        return [*self.two(x, x), self.nested(self.nested(x))]

    def gradient_of_a_call(self, x: Any) -> Any:
        return self.tf.gradients(self.nested(self.nested(x)), [x])

    def if_(self, c: Any, x: Any) -> Any:
        first = self.ops.If(c, [x], self.double, self.less_five)
        return [*first, *self.ops.If(c, [x], self.seven, self.nested)]

    def if_of_a_number(self, c: Any, x: Any) -> Any:
        return self.ops.If(c, [x], self.double, self.seven)

    def while_(self, i: Any, x: Any) -> Any:
        return list(self.ops.While([i, x], self.below_ten, self.step))

    def for_(self, x: Any) -> Any:
        return [*self.ops.For(0, 10, 2, [x], self.add), *self.ops.For(9, 0, -3, [x], self.add)]

    def _autograph(self, x: Any, y: Any) -> Any:
        tf = self.tf

        @tf.function
        def program(x: Any, y: Any) -> Any:
            z = x - y
            if tf.reduce_sum(x) > 0.0:
                z = x + y
            for i in tf.range(4):
                z = z * 0.5 + tf.cast(i, tf.float32)
            return z

        return program(x, y)

    def autograph(self, x: Any, y: Any) -> Any:
        return [self._autograph(x, y)]

    def gradient_of_autograph(self, x: Any, y: Any) -> Any:
        return self.tf.gradients(self._autograph(x, y), [x, y])

    def calls_in_a_loop(self, x: Any) -> Any:
        def body(i: Any, a: Any) -> Any:
            return i + 1, self.tf.reshape(self.nested(a) + self.double(a) + self.seven(a), [])

        return self.tf.while_loop(lambda i, a: i < 5, body, [0, x])[1:]

    def calls_in_a_branch(self, c: Any, x: Any) -> Any:
        return [
            self.tf.cond(c, lambda: self.nested(x) + self.seven(x), lambda: self.double(x)),
        ]

    def case(self, b: Any, x: Any) -> Any:
        def double() -> Any:
            return x * 2.0

        def more() -> Any:
            return x + 100.0

        def less() -> Any:
            return -x

        return [self._v2(lambda: self.tf.switch_case(b, [double, more, less]))]

    def loop_of_conditions(self, x: Any) -> Any:
        tf = self.tf

        def build() -> Any:
            def below_five(i: Any, a: Any) -> Any:
                return i < 5

            def body(i: Any, a: Any) -> Any:
                def half() -> Any:
                    return a * 0.5

                def square() -> Any:
                    return a * a + 1.0

                return i + 1, tf.cond(a > 2.0, half, square)

            result = tf.while_loop(below_five, body, [0, x])[1]
            return [result, *tf.gradients(result, [x])]

        return self._v2(build)

    def variable(self, x: Any) -> Any:
        v = self.tf.get_variable("v", initializer=F32(3), use_resource=True)

        @self.tf.function
        def add(x: Any) -> Any:
            v.assign_add(x)
            return v * 2.0

        return [add(x)]

    def _v2(self, build: Callable[[], Any]) -> Any:
        self.tf.enable_control_flow_v2()
        try:
            return build()
        finally:
            self.tf.disable_control_flow_v2()


@pytest.mark.parametrize(
    ("name", "number"), [(name, i) for name, feeds in FEEDS.items() for i in range(len(feeds))]
)
def test_a_graph_with_functions_gives_what_tensorflow_gives(
    tf: Any, name: str, number: int
) -> None:
    feeds = FEEDS[name][number]
    with tf.Graph().as_default() as graph, tf.Session() as session:
        inputs = [tf.placeholder(f.dtype, f.shape) for f in feeds]
        fetches = [tf.convert_to_tensor(t) for t in getattr(Functions(tf), name)(*inputs)]
        init = tf.global_variables_initializer()
        session.run(init)
        want = session.run(fetches, dict(zip(inputs, feeds, strict=True)))
    ours = find_service(SESSIONS, "local")("", b"")
    ours.extend(graph.as_graph_def().SerializeToString())
    ours.prepare([], [], [init.name])([])
    got = ours.prepare([t.name for t in inputs], [t.name for t in fetches], [])(feeds)
    for mine, theirs in zip(got, want, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5)
