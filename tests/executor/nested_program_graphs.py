"""The programs of nested_programs as graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import headrace.graph as hr
from headrace.graph.functions import Case, Defun, For, If, While, partitioned_call

Body = Callable[..., Any]  # (x0, x1, w) -> [x0, x1]
F64, I32 = hr.float64, hr.int32


class InAGraph:
    """Builds programs in the default graph.

    Args:
      calls: whether functions are called; otherwise their bodies are built in their place, and
        functional loops and branches become those of hr.while_loop and hr.cond.
    """

    def __init__(self, calls: bool) -> None:
        self._calls = calls

    def run(self, program: Any, x: list[Any], w: Any) -> list[Any]:
        for tensor in (*x, w):  # parameters of functions have unknown shapes
            tensor.set_shape([2])
        for statement in program:
            x = self._statement(statement, list(x), w)
            for tensor in x:
                tensor.set_shape([2])
        return [hr.identity(t) for t in x]

    def _body(self, program: Any) -> Body:
        return lambda x0, x1, w: self.run(program, [x0, x1], w)

    def _statement(self, statement: Any, x: list[Any], w: Any) -> list[Any]:
        kind = statement[0]
        if kind == "swap":
            return [x[1], x[0]]
        if kind in ("mix", "scale", "rows"):
            i = statement[1]
            x[i] = {
                "mix": lambda: hr.sin(x[0] * x[1] + w),
                "scale": lambda: x[i] * w + 0.5,
                "rows": lambda: x[i] * hr.gather(w, [0, 0]),
            }[kind]()
            return x
        if kind == "loop":
            _, how, n, i, body = statement
            times = hr.where(x[i][0] > 0.0, n + 1, n)
            return self._loop(how, times, self._body(body), x, w)
        if kind == "branch":
            _, how, i, then, other = statement
            return self._branch(how, x[i][0] > 0.0, self._body(then), self._body(other), x, w)
        if kind == "call":
            return self._call(statement[1], self._body(statement[2]), x, w)
        return getattr(self, "_" + kind)(*statement[1:], x, w)

    # ---- control flow

    def _loop(self, how: str, times: Any, body: Body, x: list[Any], w: Any) -> list[Any]:
        if how == "While" and self._calls:
            types = [I32, I32, F64, F64, F64]
            more = Defun(*types)(lambda i, n, *_: i < n)
            step = Defun(*types)(lambda i, n, x0, x1, w: (i + 1, n, *body(x0, x1, w), w))
            return list(While([0, times, *x, w], more, step)[2:4])
        if how == "For" and self._calls:
            step = Defun(I32, F64, F64, F64)(lambda _, x0, x1, w: (*body(x0, x1, w), w))
            return list(For(0, times, 1, [*x, w], step)[:2])
        return list(
            hr.while_loop(
                lambda i, *_: i < times,
                lambda i, x0, x1: (i + 1, *body(x0, x1, w)),
                (hr.constant(0), *x),
            )[1:]
        )

    def _branch(
        self, how: str, taken: Any, then: Body, other: Body, x: list[Any], w: Any
    ) -> list[Any]:
        if how in ("If", "Case") and self._calls:
            functions = [Defun(F64, F64, F64)(body) for body in (then, other)]
            if how == "If":
                return list(If(taken, [*x, w], *functions))
            return list(Case(hr.where(taken, 0, 1), [*x, w], functions))
        if how == "case":
            pairs = [(taken, lambda: then(*x, w)), (x[0][1] > 1e3, lambda: [x[1], x[0]])]
            return list(hr.case(pairs, default=lambda: other(*x, w)))
        return list(hr.cond(taken, lambda: then(*x, w), lambda: other(*x, w)))

    def _call(self, how: str, body: Body, x: list[Any], w: Any) -> list[Any]:
        if not self._calls:
            return body(*x, w)
        if how == "Defun":  # captures w
            return list(Defun(F64, F64)(lambda x0, x1: body(x0, x1, w))(*x))
        if how == "function":  # captures w
            return list(hr.function(lambda x0, x1: body(x0, x1, w))(*x))
        if how == "recompute":
            return list(hr.contrib.layers.recompute_grad(body)(*x, w))
        f = Defun(F64, F64, F64)(body)
        if how == "PartitionedCall":
            return list(partitioned_call([*x, w], f))
        return list(hr.raw_ops.StatefulPartitionedCall(args=[*x, w], Tout=[F64, F64], f=f))

    # ---- arrays and lists

    def _written(self, how: str, n: int, body: Any, x: list[Any], w: Any) -> list[Any]:
        run = self._body(body)
        if how == "scan":
            first, second = hr.scan(lambda x, _: tuple(run(*x, w)), hr.range(n), tuple(x))
            x, elements = [first[-1], second[-1]], first
        else:
            array = hr.TensorArray(
                F64, 0 if how == "dynamic_size" else n, dynamic_size=how == "dynamic_size"
            )

            def step(i: Any, x0: Any, x1: Any, array: Any) -> Any:
                x0, x1 = run(x0, x1, w)
                return i + 1, x0, x1, array.write(i, x0)

            _, *x, array = hr.while_loop(lambda i, *_: i < n, step, (hr.constant(0), *x, array))
            elements = array.stack()
        factors = hr.reshape(hr.range(1.0, n + 1.0, dtype=F64) * 0.1, [n, 1])
        return [x[0], hr.tanh(x[1] + hr.reduce_sum(elements * factors, 0))]

    def _read(self, how: str, body: Any, x: list[Any], w: Any) -> list[Any]:
        run = self._body(body)
        elements = hr.stack([x[0], x[1], x[0]])
        if how == "map_fn":
            found = hr.map_fn(lambda e: tuple(run(e, 0.5 * e, w)), elements, (F64, F64))
            return [hr.reduce_sum(found[0], 0), hr.tanh(hr.reduce_sum(found[1], 0))]
        if how in ("foldl", "foldr"):
            found = getattr(hr, how)(lambda x, e: tuple(run(x[0], e, w)), elements, tuple(x))
            return list(found)
        array = hr.TensorArray(F64, 3, clear_after_read=False).unstack(elements)
        return list(
            hr.while_loop(
                lambda i, *_: i < 3,
                lambda i, x0, x1: (i + 1, *run(x0, array.read(i), w)),
                (hr.constant(0), *x),
            )[1:]
        )

    def _stack(self, how: str, n: int, body: Any, x: list[Any], w: Any) -> list[Any]:
        run = self._body(body)
        raw = hr.raw_ops

        def push(kept: Any, value: Any) -> Any:
            return raw.TensorListPushBack(input_handle=kept, tensor=value)

        def pop(kept: Any) -> Any:
            shape = hr.constant([2])
            return raw.TensorListPopBack(input_handle=kept, element_shape=shape, element_dtype=F64)

        def forward(i: Any, kept: Any, x0: Any, x1: Any, w: Any) -> Any:
            return i + 1, push(kept, x0), *run(x0, x1, w), w

        def backward(i: Any, kept: Any, x0: Any, x1: Any, w: Any) -> Any:
            kept, element = pop(kept)
            return i + 1, kept, x0, hr.sin(x1 * element + w), w

        def loop(step: Any, state: Any) -> Any:
            if how == "function" and self._calls:
                step = hr.function(step)
            if how != "While" or not self._calls:
                return hr.while_loop(lambda i, *_: i < n, step, state)
            types = [I32, hr.variant, F64, F64, F64]
            return While(state, Defun(*types)(lambda i, *_: i < n), Defun(*types)(step))

        kept = raw.EmptyTensorList(
            element_shape=hr.constant([2]), max_num_elements=-1, element_dtype=F64
        )
        _, *state = loop(forward, (hr.constant(0), kept, *x, w))
        return list(loop(backward, (hr.constant(0), *state))[2:4])
