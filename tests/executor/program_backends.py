"""The statements of random programs, twice: computed by NumPy, and built as a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from random_programs import LIMIT, Shape

import headrace.graph as hr


class InNumPy:
    """Computes with NumPy; variables are arrays."""

    def __init__(self, variables: list[np.ndarray]) -> None:
        self.variables = variables

    def unary(self, name: str, x: np.ndarray) -> np.ndarray:
        functions: dict[str, Callable[[np.ndarray], Any]] = {
            "negative": np.negative,
            "tanh": np.tanh,
            "sin": np.sin,
            "abs": np.abs,
            "relu": lambda x: np.maximum(x, 0.0),
            "reverse": lambda x: x[::-1] if x.ndim else x,
            "masked_sum": lambda x: x[x > LIMIT].sum(),
        }
        return np.asarray(functions[name](x))

    def binary(self, name: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        if name == "add":
            return x + y
        if name == "sub":
            return x - y
        if name == "mul":
            return np.tanh(x * y)
        if name == "select":
            x, y = np.broadcast_arrays(x, y)
            return np.where(x > LIMIT, x, y)
        return np.maximum(x, y) if name == "maximum" else np.minimum(x, y)

    def reduce(self, name: str, x: np.ndarray, axes: Sequence[int], keep: bool) -> np.ndarray:
        return np.tanh(getattr(np, name)(x, axis=tuple(axes), keepdims=keep))

    def slice(self, x: np.ndarray, cut: tuple[slice, ...]) -> np.ndarray:
        return x[cut]

    def transpose(self, x: np.ndarray, order: Sequence[int]) -> np.ndarray:
        return x.transpose(order)

    def flatten(self, x: np.ndarray) -> np.ndarray:
        return x.reshape(-1)

    def concat(self, x: np.ndarray, axis: int) -> np.ndarray:
        return np.concatenate([x, -x], axis)

    def matmul(self, x: np.ndarray, y: np.ndarray, turned: bool) -> np.ndarray:
        return np.tanh(x @ (y.T if turned else y))

    def after(self, x: np.ndarray, waits: list[np.ndarray]) -> np.ndarray:
        return -x

    def read(self, number: int) -> np.ndarray:
        return self.variables[number].copy()

    def write(self, kind: str, number: int, value: np.ndarray) -> np.ndarray:
        old = self.variables[number]
        self.variables[number] = np.tanh(old + value) if kind == "assign_add" else value.copy()
        return self.variables[number].copy()

    def cond(self, x: np.ndarray, true: Callable[[], Any], false: Callable[[], Any]) -> Any:
        return true() if x.sum() > LIMIT else false()

    def repeat(self, times: int, body: Callable[[Any], Any], value: np.ndarray) -> np.ndarray:
        for _ in range(times):
            value = body(value)
        return value


class InAGraph:
    """Builds a graph; each use of a variable waits for the previous one."""

    def __init__(self, variables: Sequence[tuple[Shape, bool]]) -> None:
        self.variables = [
            hr.get_variable(
                f"v{i}", shape, hr.float64, hr.zeros_initializer(), use_resource=resource
            )
            for i, (shape, resource) in enumerate(variables)
        ]
        self.last: list[Any] = []  # what touched a variable last

    def unary(self, name: str, x: hr.Tensor) -> hr.Tensor:
        if name == "reverse":
            return hr.reverse(x, [0]) if x.shape.rank else hr.identity(x)
        if name == "masked_sum":
            return hr.reduce_sum(hr.boolean_mask(hr.reshape(x, [-1]), hr.reshape(x, [-1]) > LIMIT))
        return (hr.nn.relu if name == "relu" else getattr(hr, name))(x)

    def binary(self, name: str, x: hr.Tensor, y: hr.Tensor) -> hr.Tensor:
        if name == "mul":
            return hr.tanh(x * y)
        if name == "select":
            zeros = hr.zeros_like(x + y)
            x, y = x + zeros, y + zeros
            return hr.where(x > hr.constant(LIMIT, hr.float64), x, y)
        if name in ("add", "sub"):
            return x + y if name == "add" else x - y
        return getattr(hr, name)(x, y)

    def reduce(self, name: str, x: hr.Tensor, axes: Sequence[int], keep: bool) -> hr.Tensor:
        return hr.tanh(getattr(hr, "reduce_" + name)(x, list(axes), keepdims=keep))

    def slice(self, x: hr.Tensor, cut: tuple[slice, ...]) -> hr.Tensor:
        return x[cut]

    def transpose(self, x: hr.Tensor, order: Sequence[int]) -> hr.Tensor:
        return hr.transpose(x, list(order))

    def flatten(self, x: hr.Tensor) -> hr.Tensor:
        return hr.reshape(x, [-1])

    def concat(self, x: hr.Tensor, axis: int) -> hr.Tensor:
        return hr.concat([x, -x], axis)

    def matmul(self, x: hr.Tensor, y: hr.Tensor, turned: bool) -> hr.Tensor:
        return hr.tanh(hr.matmul(x, y, transpose_b=turned))

    def after(self, x: hr.Tensor, waits: list[hr.Tensor]) -> hr.Tensor:
        with hr.control_dependencies(waits):
            return -x

    def read(self, number: int) -> hr.Tensor:
        with hr.control_dependencies(self.last):
            value = self.variables[number].read_value() + hr.constant(0.0, hr.float64)
        self.last = [value]
        return value

    def write(self, kind: str, number: int, value: hr.Tensor) -> hr.Tensor:
        variable = self.variables[number]
        with hr.control_dependencies(self.last):
            if kind == "assign_add":
                value = hr.tanh(variable.read_value() + value)
            written = variable.assign(value)
        self.last = [written.op if isinstance(written, hr.Tensor) else written]
        return self.read(number)

    def cond(self, x: hr.Tensor, true: Callable[[], Any], false: Callable[[], Any]) -> hr.Tensor:
        with hr.control_dependencies(self.last):
            taken = hr.reduce_sum(x) > LIMIT
        self.last = []

        def branch(make: Callable[[], Any]) -> Callable[[], Any]:
            def result() -> Any:
                self.last = []
                value = make()
                with hr.control_dependencies(self.last):
                    return hr.identity(value)

            return result

        value = hr.cond(taken, branch(true), branch(false))
        self.last = [value]
        return value

    def repeat(self, times: int, body: Callable[[Any], Any], value: hr.Tensor) -> hr.Tensor:
        with hr.control_dependencies(self.last):
            start = hr.constant(0) + 0
            value = hr.identity(value)
        self.last = []

        def once(i: Any, value: Any) -> Any:
            self.last = []
            result = body(value)
            with hr.control_dependencies(self.last):
                return i + 1, hr.identity(result)

        # What is known of a shape differs between the values that a body may hand on.
        shapes = (hr.TensorShape([]), hr.TensorShape([None] * value.shape.rank))
        _, value = hr.while_loop(
            lambda i, _: i < times,
            once,
            (start, value),
            shape_invariants=shapes,
            parallel_iterations=1,
        )
        self.last = [value]
        return value
