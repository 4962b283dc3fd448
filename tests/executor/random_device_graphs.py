"""Random graphs for devices with memory of their own: statements of every kind that moves values.

A graph follows from its seed. What touches state has one order, so that each step has one result.
Places are drawn later, by node (worker_steps.scattered), functions' bodies included.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import headrace.graph as hr
from headrace.formats.proto.graph_pb2 import GraphDef

Shape = tuple[int, ...]
raw = hr.raw_ops

SIZES = (1, 2, 3, 4)
LARGE = 65  # a matrix of this size is no small tensor
LIMIT = 0.0731


class Value(NamedTuple):
    tensor: Any
    shape: Shape
    pure: bool  # hangs on feeds alone: it may be fed itself


class Statements:
    """Builds a graph from a seed: `values` grow, and `last` is what touched state last."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.values: list[Value] = []
        self.feeds: dict[str, Callable[[np.random.Generator], np.ndarray]] = {}
        self.last: list[Any] = []
        self.references: list[tuple[Any, Shape]] = []
        self.resources: list[tuple[Any, Shape]] = []
        self.initial: list[Any] = []
        self.targets: list[Any] = []
        self.fetches: list[Any] = []
        self.depth = 0
        self._make_feeds()
        self._make_variables()

    def build(self) -> None:
        for _ in range(self.rng.randint(4, 14)):
            self.one()
        if self.rng.random() < 0.3:
            self._optimize()
        if self.rng.random() < 0.2:
            self._differentiate()

    # ---- what a graph begins with ------------------------------------------------------------

    def _make_feeds(self) -> None:
        for i in range(self.rng.randint(1, 3)):
            shape = self._shape()
            if self.rng.random() < 0.1:
                shape = (LARGE, LARGE)
            if self.rng.random() < 0.05:
                shape = (0, *shape[1:])
            known = [n if self.rng.random() < 0.5 else None for n in shape]
            x = hr.placeholder(hr.float32, known, name=f"x{i}")
            self.feeds[x.name] = lambda rng, shape=shape: rng.normal(size=shape).astype(np.float32)
            self.values.append(Value(x, shape, True))
        self.taken = hr.placeholder(hr.bool, [], name="taken")
        self.feeds[self.taken.name] = lambda rng: np.asarray(rng.random() < 0.5)
        self.count = hr.placeholder(hr.int32, [], name="count")
        self.feeds[self.count.name] = lambda rng: rng.integers(0, 4, dtype=np.int32)
        self.begin = hr.placeholder(hr.int32, [None], name="begin")
        self.feeds[self.begin.name] = lambda rng: np.zeros(1, np.int32)
        self.words = hr.placeholder(hr.string, [None], name="words")
        self.feeds[self.words.name] = lambda rng: np.array([b"a", b"bb"], object)

    def _make_variables(self) -> None:
        for i in range(self.rng.randint(0, 3)):
            shape = self._shape()
            initial = np.linspace(-1, 1, int(np.prod(shape))).reshape(shape).astype(np.float32)
            resource = self.rng.random() < 0.5
            v = hr.get_variable(f"v{i}", initializer=initial, use_resource=resource)
            (self.resources if resource else self.references).append((v, shape))
        # A step that was disturbed may leave a variable of another shape.
        whole = [hr.assign(v, v.initial_value, validate_shape=False).op for v, _ in self.references]
        self.init = hr.group(*whole, *[v.initializer for v, _ in self.resources])

    @property
    def variables(self) -> list[tuple[Any, Shape]]:
        return [*self.references, *self.resources]

    def _shape(self) -> Shape:
        return tuple(self.rng.choice(SIZES) for _ in range(self.rng.randint(0, 3)))

    # ---- statements --------------------------------------------------------------------------

    def one(self) -> None:
        kinds = [self.unary, self.binary, self.reduce, self.reshape, self.slice, self.concat]
        kinds += [self.matmul, self.constant, self.integers, self.pieces, self.strings, self.after]
        kinds += [self.array, self.queue, self.data_shape, self.python, self.other, self.wide]
        if self.variables:
            kinds += [self.read, self.write, self.write, self.scatter, self.reference]
            kinds += [self.grow]
        if self.depth < 2:
            kinds += [self.cond, self.loop, self.function, self.functional] * 2
        if not self.depth:
            kinds += [self.switch] * 2
        self.rng.choice(kinds)()

    def pick(self, least: int = 0) -> Value:
        fitting = [v for v in self.values if len(v.shape) >= least]
        if not fitting:
            x = self.rng.choice(self.values)
            shape = (1,) * (least - len(x.shape)) + x.shape
            return Value(hr.reshape(x.tensor, shape), shape, x.pure)
        return self.rng.choice(fitting[-6:] if self.rng.random() < 0.6 else fitting)

    def add(self, tensor: Any, shape: Shape, *of: Value) -> None:
        self.values.append(Value(tensor, tuple(shape), all(v.pure for v in of)))

    def unary(self) -> None:
        x = self.pick()
        name = self.rng.choice("neg tanh abs relu sigmoid exp square identity stop sqrt".split())
        made = {
            "neg": hr.negative,
            "tanh": hr.tanh,
            "abs": hr.abs,
            "relu": hr.nn.relu,
            "sigmoid": hr.sigmoid,
            "exp": lambda x: hr.exp(hr.tanh(x)),
            "square": lambda x: hr.square(hr.tanh(x)),
            "identity": hr.identity,
            "stop": hr.stop_gradient,
            "sqrt": lambda x: hr.sqrt(hr.abs(x) + 1.0),
        }[name](x.tensor)
        self.add(made, x.shape, x)

    def binary(self) -> None:
        x, y = self.pick(), self.pick()
        try:
            shape = np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            y = x
            shape = x.shape
        if 0 in shape or np.prod(shape) > 20000:
            y, shape = x, x.shape
        name = self.rng.choice("add subtract multiply maximum minimum".split())
        made = getattr(hr, name)(x.tensor, y.tensor)
        self.add(hr.tanh(made) if name == "multiply" else made, shape, x, y)

    def reduce(self) -> None:
        x = self.pick()
        axes = sorted(self.rng.sample(range(len(x.shape)), self.rng.randint(0, len(x.shape))))
        if any(x.shape[i] == 0 for i in axes):
            axes = []
        name = self.rng.choice("sum mean max min".split())
        keep = self.rng.random() < 0.5
        shape = [1 if i in axes else n for i, n in enumerate(x.shape) if keep or i not in axes]
        made = getattr(hr, "reduce_" + name)(x.tensor, axes, keepdims=keep)
        self.add(hr.tanh(made), shape, x)

    def reshape(self) -> None:
        x = self.pick()
        how = self.rng.choice(["flat", "same", "data", "turned"])
        if how == "flat":
            flat = (int(np.prod(x.shape)),)
            self.add(hr.reshape(x.tensor, [-1] if 0 not in x.shape else flat), flat, x)
        elif how == "same":
            self.add(hr.reshape(hr.tanh(x.tensor), hr.shape(x.tensor)), x.shape, x)
        elif how == "data":
            # The shape is computed from data.
            zero = hr.reduce_sum(self.begin)
            shape = hr.concat([hr.shape(x.tensor) + zero, hr.fill([zero + 1], zero + 1)], 0)
            self.add(hr.reshape(x.tensor, shape), (*x.shape, 1), x)
        else:
            order = list(range(len(x.shape)))
            self.rng.shuffle(order)
            shape = tuple(x.shape[i] for i in order)
            self.add(hr.transpose(x.tensor, order), shape, x)

    def slice(self) -> None:
        x = self.pick(1)
        n = x.shape[0]
        if n < 1:
            return
        first, size = self.rng.randrange(n), 1
        size = self.rng.randint(1, n - first)
        start = self.begin[0] + first if self.rng.random() < 0.5 else hr.constant(first)
        how = self.rng.random()
        if how < 0.4:
            rest = len(x.shape) - 1
            made = hr.slice(
                x.tensor,
                hr.concat([[start], hr.zeros([rest], hr.int32)], 0),
                [size, *x.shape[1:]],
            )
            self.add(made, (size, *x.shape[1:]), x)
        elif how < 0.7:
            self.add(x.tensor[start : start + size], (size, *x.shape[1:]), x)
        else:
            self.add(hr.gather(x.tensor, start), x.shape[1:], x)

    def concat(self) -> None:
        x = self.pick(1)
        axis = self.rng.randrange(len(x.shape))
        other: Any = hr.constant(np.full(x.shape, 0.25, np.float32))
        if self.rng.random() < 0.5:
            other = -x.tensor
        shape = [2 * n if i == axis else n for i, n in enumerate(x.shape)]
        if np.prod(shape) > 20000:
            return
        parts = [x.tensor, other, x.tensor[:0]] if axis == 0 else [x.tensor, other]
        self.add(hr.concat(parts, axis), shape, x)

    def matmul(self) -> None:
        x = self.pick(2)
        if len(x.shape) != 2 or 0 in x.shape:
            return
        turned = self.rng.random() < 0.5
        other = x.tensor
        if not turned:
            n = self.rng.choice(SIZES)
            other = hr.constant(
                np.linspace(-0.5, 0.5, x.shape[1] * n).reshape(x.shape[1], n).astype(np.float32)
            )
        made = hr.matmul(x.tensor, other, transpose_b=turned)
        n = x.shape[0] if turned else n
        if self.rng.random() < 0.5:
            made = hr.nn.relu(hr.nn.bias_add(made, np.linspace(0, 1, n).astype(np.float32)))
        self.add(hr.tanh(made), (x.shape[0], n), x)

    def constant(self) -> None:
        shape = self._shape()
        value = np.linspace(-1, 1, int(np.prod(shape))).reshape(shape).astype(np.float32)
        self.add(hr.tanh(hr.constant(value)), shape)

    def integers(self) -> None:
        """To int32 or bool and back, on whichever side these are."""
        x = self.pick()
        how = self.rng.choice(["cast", "compare", "argmax", "size", "one_hot"])
        if how == "cast":
            made = hr.cast(hr.cast(x.tensor * 3.0, hr.int32) * 2 + self.count, hr.float32) * 0.1
            self.add(made, x.shape, x)
        elif how == "compare":
            zeros = hr.zeros_like(x.tensor)
            self.add(hr.where(x.tensor > LIMIT, x.tensor, zeros - 1.0), x.shape, x)
        elif how == "size":
            made = hr.cast(hr.size(x.tensor) + hr.rank(x.tensor) + self.count, hr.float32)
            self.add(made * 0.01, (), x)
        elif x.shape and x.shape[0]:
            found = hr.argmax(x.tensor, 0, output_type=self.rng.choice([hr.int32, hr.int64]))
            if how == "argmax":
                self.add(hr.cast(found, hr.float32) * 0.1, x.shape[1:], x)
            else:
                self.add(hr.one_hot(found, 3), (*x.shape[1:], 3), x)

    def pieces(self) -> None:
        x = self.pick(1)
        n = x.shape[0]
        if not 0 < n < 10:
            return
        parts = hr.unstack(x.tensor, n) if self.rng.random() < 0.5 else None
        if parts is None:
            parts = [hr.squeeze(p, [0]) for p in hr.split(x.tensor, n, 0)]
        self.rng.shuffle(parts)
        self.add(parts[0], x.shape[1:], x)
        self.add(hr.stack(parts), x.shape, x)

    def strings(self) -> None:
        x = self.pick()
        total = hr.reduce_sum(hr.strings.length(hr.string_join([self.words, "!"])))
        if self.rng.random() < 0.5:
            made = x.tensor + hr.cast(total, hr.float32) * 0.01
        else:
            made = hr.string_to_number(hr.as_string(hr.cast(x.tensor * 4.0, hr.int32)))
        self.add(hr.tanh(made), x.shape, x)

    def other(self) -> None:
        """Ops of several families, some of which no device has."""
        x = self.pick(1)
        n = x.shape[0]
        if not n:
            return
        last = len(x.shape) - 1
        made = {
            "cumsum": lambda: hr.cumsum(x.tensor, 0),
            "softmax": lambda: hr.nn.softmax(x.tensor),
            "sort": lambda: hr.sort(x.tensor, axis=last),
            "stitch": lambda: hr.dynamic_stitch(
                [hr.range(0, n, 2), hr.range(1, n, 2)], [x.tensor[::2], x.tensor[1::2]]
            ),
            "segments": lambda: hr.gather(
                hr.segment_sum(x.tensor, hr.range(n) // 2), hr.range(n) // 2
            ),
            "clip": lambda: hr.clip_by_value(x.tensor, -0.5, self.begin_as_float() + 0.5),
            "session": lambda: hr.tile(x.tensor, [2] + [1] * last)[n:],
            "check": lambda: self.checked(x.tensor),
            "random": lambda: x.tensor + hr.random_uniform(x.shape, seed=3) * 0.0,
            "zeros": lambda: x.tensor + hr.fill(hr.shape(x.tensor), 0.125),
            "normed": lambda: hr.nn.l2_normalize(x.tensor, 0),
            "roll": lambda: hr.roll(x.tensor, self.begin[0] + 1, 0),
            "pad": lambda: hr.pad(x.tensor, [[1, 0]] + [[0, 0]] * last)[1:],
            "temporary": lambda: x.tensor * 1.5,
        }
        self.add(self.rng.choice(list(made.values()))(), x.shape, x)

    def begin_as_float(self) -> Any:
        return hr.cast(self.begin[0], hr.float32)

    def checked(self, x: Any) -> Any:
        with hr.control_dependencies([hr.Assert(hr.reduce_all(hr.abs(x) < 1e9), [x])]):
            return hr.identity(x)

    def wide(self) -> None:
        """Through another type of floats."""
        x = self.pick()
        kind = self.rng.choice([hr.float64, hr.float16, hr.bfloat16, hr.int64, hr.complex64])
        y = hr.cast(hr.tanh(x.tensor) * 5.0, kind)
        if kind is hr.complex64:
            made = hr.real(y * hr.conj(y))
        else:
            made = hr.cast(y * y - y, hr.float32)
        self.add(hr.tanh(made), x.shape, x)

    def python(self) -> None:
        x = self.pick()
        made = hr.py_func(lambda a: np.negative(a), [x.tensor], hr.float32, stateful=False)
        made.set_shape(x.tensor.shape)
        self.add(made, x.shape, x)

    def after(self) -> None:
        x, y = self.pick(), self.pick()
        with hr.control_dependencies([y.tensor, hr.no_op()]):
            self.add(hr.identity(x.tensor), x.shape, x, y)

    def data_shape(self) -> None:
        """What is left of the elements is known only from data."""
        x = self.pick()
        flat = hr.reshape(x.tensor, [int(np.prod(x.shape))])
        some = hr.boolean_mask(flat, flat > LIMIT)
        if self.rng.random() < 0.5:
            some = hr.tanh(some) + 0.5
        if self.rng.random() < 0.5:
            some = hr.concat([some, flat[:1] * 2.0], 0)
        self.add(hr.tanh(hr.reduce_sum(some)), (), x)

    def array(self) -> None:
        x = self.pick(1)
        n = x.shape[0]
        if not 0 < n < 6:
            return
        source = hr.TensorArray(hr.float32, n).unstack(x.tensor)
        if self.rng.random() < 0.5:
            made = source.read(self.rng.randrange(n))
            self.add(made, x.shape[1:], x)
            return
        target = hr.TensorArray(hr.float32, n)
        _, target = hr.while_loop(
            lambda i, _: i < n,
            lambda i, t: (i + 1, t.write(i, hr.tanh(source.read(i)) * 0.5)),
            [0, target],
        )
        shape = x.shape
        if self.rng.random() < 0.5 or len(shape) < 2:
            made = target.stack()
        else:
            made = target.concat()
            shape = (shape[0] * shape[1], *shape[2:])
        self.add(hr.reshape(made, shape), shape, x)

    def queue(self) -> None:
        x = self.pick()
        if self.depth:
            return
        queue = hr.FIFOQueue(10, [hr.float32, hr.int32], shapes=[x.shape, []])
        with hr.control_dependencies(self.last):
            put = queue.enqueue([x.tensor, self.count])
        with hr.control_dependencies([put]):
            got, n = queue.dequeue()
        made = got + hr.cast(n, hr.float32) * 0.1
        self.last = [made]
        self.values.append(Value(made, x.shape, False))

    # ---- state -------------------------------------------------------------------------------

    def read(self) -> None:
        v, shape = self.rng.choice(self.variables)
        with hr.control_dependencies(self.last):
            value = v.read_value() + 0.0
        self.last = [value]
        self.values.append(Value(value, shape, False))

    def write(self) -> None:
        v, shape = self.rng.choice(self.variables)
        fitting = [x for x in self.values if x.shape == shape]
        x = self.rng.choice(fitting).tensor if fitting else hr.zeros(shape) + 0.5
        how = self.rng.choice(["assign", "add", "sub"])
        with hr.control_dependencies(self.last):
            if how == "assign":
                written = v.assign(hr.tanh(x))
            else:
                written = (v.assign_add if how == "add" else v.assign_sub)(x)
        self.last = [getattr(written, "op", written)]
        self.targets += self.last if not self.depth else []
        self.read()

    def scatter(self) -> None:
        fitting = [(v, s) for v, s in self.variables if s and s[0] > 0]
        if not fitting:
            return
        v, shape = self.rng.choice(fitting)
        update = hr.zeros(shape[1:]) + 0.125
        with hr.control_dependencies(self.last):
            at = self.begin[0] + self.rng.randrange(shape[0])
            if (v, shape) in self.references:
                made = self.rng.choice([hr.scatter_update, hr.scatter_add])(v, at, update)
            else:
                name = self.rng.choice(["ResourceScatterUpdate", "ResourceScatterAdd"])
                made = getattr(raw, name)(resource=v.handle, indices=at, updates=update)
        self.last = [getattr(made, "op", made)]
        self.targets += self.last if not self.depth else []

    def grow(self) -> None:
        """A variable that changes its shape and back."""
        if not self.references or self.depth:
            return
        v, shape = self.rng.choice(self.references)
        x = self.pick()
        with hr.control_dependencies(self.last):
            larger = hr.assign(v, hr.tanh(x.tensor), validate_shape=False)
        with hr.control_dependencies([larger.op]):
            flat = raw.Reshape(tensor=raw.Identity(input=v._ref()), shape=[-1])
            total = hr.reduce_sum(flat, [0])
        with hr.control_dependencies([total]):
            back = hr.assign(v, hr.zeros(shape) + hr.tanh(total), validate_shape=False)
        self.last = [back.op]
        self.targets.append(back.op)
        self.values.append(Value(total, (), False))

    def reference(self) -> None:
        """References that are passed on, switched, merged and selected."""
        if not self.references or self.depth:
            return
        v, shape = self.rng.choice(self.references)
        same = [w for w, s in self.references if s == shape]
        other = self.rng.choice(same)
        how = self.rng.choice(["identity", "switch", "select", "write"])
        with hr.control_dependencies(self.last):
            first = raw.RefIdentity(input=v._ref())
            if how == "identity":
                made = hr.identity(first) * 1.0
            elif how == "select":
                which = hr.cast(self.taken, hr.int32)
                chosen = raw.RefSelect(
                    index=which, inputs=[first, raw.RefIdentity(input=other._ref())]
                )
                made = hr.identity(chosen) + 0.0
            else:
                no, yes = raw.RefSwitch(data=first, pred=self.taken)
                if how == "write":
                    yes = raw.AssignAdd(ref=yes, value=hr.zeros(shape) + 0.25)
                merged, index = raw.RefMerge(inputs=[no, yes])
                made = hr.identity(merged) + hr.cast(index, hr.float32)
        self.last = [made]
        self.targets.append(made.op)
        self.values.append(Value(made, shape, False))

    # ---- control flow and functions ----------------------------------------------------------

    def _nested(self, x: Value, most: int) -> Any:
        """Runs statements inside of a context; returns a value of the shape of x."""
        values, last = list(self.values), self.last
        self.values.append(x)
        self.depth += 1
        self.last = []
        for _ in range(self.rng.randint(1, most)):
            self.one()
        fitting = [v for v in self.values[len(values) :] if v.shape == x.shape]
        made = self.rng.choice(fitting[-3:]).tensor
        with hr.control_dependencies(self.last):
            made = hr.identity(made)
        made.set_shape([None] * len(x.shape))
        self.values, self.last = values, last
        self.depth -= 1
        return made

    def _predicate(self, x: Value) -> Any:
        how = self.rng.random()
        if how < 0.4:
            return hr.reduce_sum(x.tensor) > LIMIT
        return self.taken if how < 0.8 else self.count > 1

    def cond(self) -> None:
        x = self.pick()
        with hr.control_dependencies(self.last):
            taken = hr.identity(self._predicate(x))
        made = hr.cond(taken, lambda: self._nested(x, 4), lambda: self._nested(x, 3))
        self.last = [made]
        self.values.append(Value(made, x.shape, False))

    def switch(self) -> None:
        """A Switch and a Merge by hand: one side may be dead, and may be fetched by mistake."""
        x = self.pick()
        no, yes = raw.Switch(data=x.tensor, pred=self._predicate(x))
        made, index = raw.Merge(inputs=[hr.tanh(no), hr.nn.relu(yes) * 2.0])
        self.add(hr.reshape(made, x.shape), x.shape, x)
        self.add(hr.cast(index, hr.float32), (), x)

    def loop(self) -> None:
        x = self.pick()
        with hr.control_dependencies(self.last):
            start = hr.constant(0) + 0
            carried = hr.identity(x.tensor)
            carried.set_shape([None] * len(x.shape))
        by_data = self.rng.random() < 0.3
        times = self.count if self.rng.random() < 0.5 else self.rng.randint(0, 4)

        def go_on(i: Any, value: Any, other: Any) -> Any:
            if by_data:
                return hr.logical_and(i < times, hr.reduce_sum(hr.abs(value)) < 1e3)
            return i < times

        def body(i: Any, value: Any, other: Any) -> Any:
            made = self._nested(Value(value, x.shape, False), 4)
            with hr.control_dependencies(
                [made]
            ):  # the next iteration begins after this one's writes
                return i + 1, made, hr.tanh(other + hr.cast(i, hr.float32))

        shapes = tuple(hr.TensorShape([None] * len(s)) for s in ((), x.shape, ()))
        parallel = 1 if self.variables else self.rng.choice([1, 3, 10])
        _, made, other = hr.while_loop(
            go_on,
            body,
            (start, carried, hr.constant(0.5)),
            shape_invariants=shapes,
            parallel_iterations=parallel,
        )
        self.last = [made]
        self.values.append(Value(hr.reshape(made, x.shape), x.shape, False))
        self.values.append(Value(other, (), False))

    def function(self) -> None:
        x = self.pick()
        other = self.pick()
        values, last, variables = list(self.values), self.last, (self.references, self.resources)
        inline = self.rng.random() < 0.5

        def body(a: Any, b: Any, taken: Any, count: Any, begin: Any, words: Any) -> Any:
            outside = self.taken, self.count, self.begin, self.words
            self.taken, self.count, self.begin, self.words = taken, count, begin, words
            self.values = [Value(b, other.shape, False)]
            self.references, self.resources = [], []
            made = self._nested(Value(a, x.shape, False), 4)
            self.taken, self.count, self.begin, self.words = outside
            return made

        types = [hr.float32, hr.float32, hr.bool, hr.int32, hr.int32, hr.string]
        function = hr.functions.Defun(*types, noinline=not inline)(body)
        depth, self.depth = self.depth, 2  # no functions in functions
        made = function(x.tensor, other.tensor, self.taken, self.count, self.begin, self.words)
        self.depth = depth
        self.values, self.last = values, last
        self.references, self.resources = variables
        self.add(hr.reshape(made, x.shape), x.shape, x, other)

    def functional(self) -> None:
        """An If by functions."""
        x = self.pick()
        values, last, variables = list(self.values), self.last, (self.references, self.resources)
        depth, self.depth = self.depth, 2

        def branch(seed: int) -> Any:
            def body(a: Any, begin: Any, count: Any, taken: Any, words: Any) -> Any:
                outside = self.taken, self.count, self.begin, self.words
                self.taken, self.count, self.begin, self.words = taken, count, begin, words
                self.values, self.references, self.resources = [], [], []
                made = self._nested(Value(a, x.shape, False), 3)
                self.taken, self.count, self.begin, self.words = outside
                return made

            kinds = [hr.float32, hr.int32, hr.int32, hr.bool, hr.string]
            return hr.functions.Defun(*kinds)(body)

        inputs = [x.tensor, self.begin, self.count, self.taken, self.words]
        op = self.rng.choice([raw.If, raw.StatelessIf])
        (made,) = op(
            cond=self._predicate(x),
            input=inputs,
            Tout=[hr.float32],
            then_branch=branch(1),
            else_branch=branch(2),
        )
        self.depth = depth
        self.values, self.last = values, last
        self.references, self.resources = variables
        self.add(hr.reshape(made, x.shape), x.shape, x)

    def _optimize(self) -> None:
        floats = [v for v, s in self.variables]
        if not floats:
            return
        with hr.control_dependencies(self.last):
            loss = hr.add_n([hr.reduce_sum(hr.square(v.read_value() - 0.3)) for v in floats])
        make = self.rng.choice(
            [
                lambda: hr.train.GradientDescentOptimizer(0.1),
                lambda: hr.train.MomentumOptimizer(0.1, 0.9),
                lambda: hr.train.AdamOptimizer(0.05),
                lambda: hr.train.RMSPropOptimizer(0.05),
            ]
        )
        before = set(hr.global_variables())
        with hr.control_dependencies([loss]):
            train = make().minimize(loss, var_list=floats)
        for slot in hr.global_variables():
            if slot not in before:
                self.initial.append(slot.initializer)
        self.last = [train]
        self.targets.append(train)
        self.read()

    def _differentiate(self) -> None:
        y = self.pick()
        x = self.values[0]
        try:
            (grad,) = hr.gradients(hr.reduce_sum(y.tensor), [x.tensor])
        except Exception:  # noqa: BLE001 - some ops have none
            return
        if isinstance(grad, hr.Tensor):
            self.fetches.append(grad)


class RandomGraph:
    """A graph with steps: fetches, targets and feeds, by name."""

    def __init__(self, seed: int) -> None:
        self.graph = hr.Graph()
        with self.graph.as_default():
            hr.set_random_seed(1)
            s = Statements(seed)
            s.build()
            self.init = hr.group(s.init, *s.initial).name
            self.reads = [v.read_value().name for v, _ in s.variables]
            self.reads += [v._ref().name for v, _ in s.references]
        self.rng = random.Random(seed + 1)
        self.numbers = np.random.default_rng(seed)
        self.makes = s.feeds
        self.values = [v for v in s.values if v.tensor.graph is self.graph]
        self.extra = [t.name for t in s.fetches]
        self.targets = [op.name for op in s.targets]
        self.stateless = not s.variables and not any(
            "Queue" in n.op for n in self.graph.as_graph_def().node
        )

    def step(self) -> tuple[list[str], dict[str, Any]]:
        """What to run: fetches and targets, and feeds."""
        rng = self.rng
        feeds: dict[str, Any] = {name: make(self.numbers) for name, make in self.makes.items()}
        some = rng.sample(self.values, min(len(self.values), rng.randint(1, 6)))
        fetches = [v.tensor.name for v in some]
        if rng.random() < 0.3:
            for v in rng.sample(self.values, min(len(self.values), 2)):
                if v.pure and v.tensor.op.type != "Placeholder":
                    feeds[v.tensor.name] = self.numbers.normal(size=v.shape).astype(np.float32)
        if rng.random() < 0.5:
            fetches += self.extra
        # All that touches state runs, or none of it.
        fetches += self.targets
        return list(dict.fromkeys(fetches)), feeds

    def placed(self, seed: int, places: list[str]) -> hr.Graph:
        """A copy of the graph, each node on a random place, or on none."""
        rng = random.Random(seed)
        choices = [*places, *rng.choices([*places, ""], k=3)]
        graph_def: GraphDef = self.graph.as_graph_def()
        nodes = [*graph_def.node, *(n for f in graph_def.library.function for n in f.node_def)]
        for node in nodes:
            node.device = rng.choice(choices)
        made = hr.Graph()
        with made.as_default():
            hr.import_graph_def(graph_def, name="")
        return made
