"""Random pipelines of datasets: drawn, as hr.data.Dataset, and on Python lists.

A pipeline is a list of steps over int64 scalars; `dataset` and `elements` have one method a step.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import headrace.graph as hr

LONGEST = 60
SMALL = st.integers(1, 4)
CALLS = st.sampled_from([None, 1, 2, 3])

STEPS = {
    "range": st.tuples(st.integers(0, 9)),
    "map": st.tuples(st.sampled_from(["scaled", "branch", "loop", "call"]), CALLS),
    "batch": st.tuples(SMALL, st.booleans(), st.sampled_from(["unbatch", "sum", "slices"])),
    "padded_batch": st.tuples(SMALL, st.booleans()),
    "filter": st.tuples(st.integers(2, 4), st.integers(0, 2)),
    "flat_map": st.tuples(SMALL),
    "interleave": st.tuples(SMALL, SMALL, CALLS),
    "zip": st.tuples(st.integers(0, 3)),
    "concatenate": st.tuples(st.integers(0, 3)),
    "take": st.tuples(st.integers(-1, 20)),
    "skip": st.tuples(st.integers(-1, 5)),
    "repeat": st.tuples(st.integers(0, 3)),
    "cache": st.tuples(),
    "shuffle": st.tuples(st.integers(1, 9)),
    "window": st.tuples(SMALL, SMALL, SMALL, st.booleans()),
    "shard": st.tuples(st.integers(1, 3)),
    "prefetch": st.tuples(st.integers(0, 3)),
    "scan": st.tuples(st.integers(0, 5)),
    "group_by_window": st.tuples(SMALL, SMALL),
    "nested": st.tuples(SMALL),
}

PIPELINES = st.tuples(
    st.integers(0, 12),
    st.lists(
        st.sampled_from(sorted(set(STEPS) - {"range"})).flatmap(
            lambda name: st.tuples(st.just(name), STEPS[name])
        ),
        min_size=1,
        max_size=6,
    ),
)


def is_ordered(pipeline: Any) -> bool:
    """Returns whether the order of the elements follows from the model: no step shuffles."""
    return all(name != "shuffle" for name, _ in pipeline[1])


class Datasets:
    """The steps as transformations of hr.data.Dataset."""

    def dataset(self, pipeline: Any) -> Any:
        n, steps = pipeline
        found = hr.data.Dataset.range(n)
        for name, arguments in steps:
            found = getattr(self, "_" + name)(found, *arguments).take(LONGEST)
        return found

    def _map(self, d: Any, kind: str, calls: int | None) -> Any:
        one = hr.constant(1, hr.int64)
        functions = {
            "scaled": lambda x: x * 3 + 1,
            "branch": lambda x: hr.cond(x % 2 > 0, lambda: x * 5, lambda: x - 2),
            "loop": lambda x: hr.while_loop(
                lambda i, _: i < x % 4, lambda i, s: (i + 1, s + i * x), (x * 0, x)
            )[1],
            "call": lambda x: hr.function(lambda y: y * y - one)(x % 9),
        }
        return d.map(functions[kind], num_parallel_calls=calls)

    def _batch(self, d: Any, size: int, drop: bool, back: str) -> Any:
        d = d.batch(size, drop_remainder=drop)
        if back == "sum":
            return d.map(hr.reduce_sum)
        if back == "slices":
            return d.flat_map(hr.data.Dataset.from_tensor_slices)
        return d.apply(hr.data.experimental.unbatch())

    def _padded_batch(self, d: Any, size: int, drop: bool) -> Any:
        rows = d.map(lambda x: hr.fill([x % 4], x))
        rows = rows.padded_batch(size, [None], hr.constant(-1, hr.int64), drop_remainder=drop)
        return rows.flat_map(lambda m: hr.data.Dataset.from_tensor_slices(hr.reshape(m, [-1])))

    def _filter(self, d: Any, m: int, r: int) -> Any:
        return d.filter(lambda x: hr.not_equal(x % m, r))

    def _flat_map(self, d: Any, n: int) -> Any:
        return d.flat_map(lambda x: hr.data.Dataset.range(x % (n + 1)).map(lambda y: x * 10 + y))

    def _interleave(self, d: Any, cycle: int, block: int, calls: int | None) -> Any:
        def inner(x: Any) -> Any:
            return hr.data.Dataset.range(x % 4).map(lambda y: x * 10 + y)

        return d.interleave(inner, cycle, block, calls if calls is None else min(calls, cycle))

    def _zip(self, d: Any, n: int) -> Any:
        return hr.data.Dataset.zip((d, d.skip(n))).map(lambda x, y: x * 7 + y)

    def _concatenate(self, d: Any, n: int) -> Any:
        return d.concatenate(d.map(lambda x: x + n))

    def _take(self, d: Any, n: int) -> Any:
        return d.take(n)

    def _skip(self, d: Any, n: int) -> Any:
        return d.skip(n)

    def _repeat(self, d: Any, n: int) -> Any:
        return d.repeat(n)

    def _cache(self, d: Any) -> Any:
        return d.cache()

    def _shuffle(self, d: Any, size: int) -> Any:
        return d.shuffle(size, seed=3)

    def _window(self, d: Any, size: int, shift: int, stride: int, drop: bool) -> Any:
        windows = d.window(size, shift, stride, drop)
        return windows.flat_map(lambda w: w.batch(size)).map(hr.reduce_sum)

    def _shard(self, d: Any, n: int) -> Any:
        return d.shard(n, n - 1)

    def _prefetch(self, d: Any, n: int) -> Any:
        return d.prefetch(n)

    def _scan(self, d: Any, start: int) -> Any:
        start = hr.constant(start, hr.int64)
        step = hr.data.experimental.scan(start, lambda s, x: ((s + x) % 50, s * 2 + x))
        return d.apply(step)

    def _group_by_window(self, d: Any, keys: int, size: int) -> Any:
        grouped = hr.data.experimental.group_by_window(
            lambda x: x % keys, lambda key, w: w.batch(size).map(hr.reduce_sum), window_size=size
        )
        return d.apply(grouped)

    def _nested(self, d: Any, n: int) -> Any:
        def total(x: Any) -> Any:
            inner = hr.data.Dataset.range(x % (n + 2)).map(lambda y: y + x).filter(lambda y: y > 1)
            return inner.reduce(x, lambda s, y: s + y)

        return d.map(total)


class Lists:
    """The steps on Python lists."""

    def elements(self, pipeline: Any) -> list[int]:
        n, steps = pipeline
        found = list(range(n))
        for name, arguments in steps:
            found = getattr(self, "_" + name)(found, *arguments)[:LONGEST]
        return found

    def _map(self, d: list[int], kind: str, calls: Any) -> list[int]:
        functions = {
            "scaled": lambda x: x * 3 + 1,
            "branch": lambda x: x * 5 if x % 2 else x - 2,
            "loop": lambda x: x + sum(i * x for i in range(x % 4)),
            "call": lambda x: (x % 9) ** 2 - 1,
        }
        return [functions[kind](x) for x in d]

    def _batch(self, d: list[int], size: int, drop: bool, back: str) -> list[int]:
        rows = _rows(d, size, drop)
        return [sum(row) for row in rows] if back == "sum" else sum(rows, [])

    def _padded_batch(self, d: list[int], size: int, drop: bool) -> list[int]:
        found: list[int] = []
        for row in _rows(d, size, drop):
            longest = max(x % 4 for x in row)
            for x in row:
                found += [x] * (x % 4) + [-1] * (longest - x % 4)
        return found

    def _filter(self, d: list[int], m: int, r: int) -> list[int]:
        return [x for x in d if x % m != r]

    def _flat_map(self, d: list[int], n: int) -> list[int]:
        return [x * 10 + y for x in d for y in range(x % (n + 1))]

    def _interleave(self, d: list[int], cycle: int, block: int, calls: Any) -> list[int]:
        waiting = [[x * 10 + y for y in range(x % 4)] for x in d]
        slots: list[list[int] | None] = [None] * cycle
        found: list[int] = []
        at = 0
        while waiting or any(slot is not None for slot in slots):
            if slots[at] is None and waiting:
                slots[at] = waiting.pop(0)
            slot = slots[at]
            if slot is not None:
                for _ in range(block):
                    if not slot:
                        slots[at] = None
                        break
                    found.append(slot.pop(0))
            at = (at + 1) % cycle
        return found

    def _zip(self, d: list[int], n: int) -> list[int]:
        return [x * 7 + y for x, y in zip(d, d[n:], strict=False)]

    def _concatenate(self, d: list[int], n: int) -> list[int]:
        return d + [x + n for x in d]

    def _take(self, d: list[int], n: int) -> list[int]:
        return d if n < 0 else d[:n]

    def _skip(self, d: list[int], n: int) -> list[int]:
        return [] if n < 0 else d[n:]

    def _repeat(self, d: list[int], n: int) -> list[int]:
        return d * n

    def _cache(self, d: list[int]) -> list[int]:
        return d

    def _shuffle(self, d: list[int], size: int) -> list[int]:
        return d

    def _window(self, d: list[int], size: int, shift: int, stride: int, drop: bool) -> list[int]:
        found = []
        for start in range(0, len(d), shift):
            window = d[start : start + size * stride : stride]
            if len(window) == size or not drop:
                found.append(sum(window))
        return found

    def _shard(self, d: list[int], n: int) -> list[int]:
        return d[n - 1 :: n]

    def _prefetch(self, d: list[int], n: int) -> list[int]:
        return d

    def _scan(self, d: list[int], start: int) -> list[int]:
        found = []
        for x in d:
            found.append(start * 2 + x)
            start = (start + x) % 50
        return found

    def _group_by_window(self, d: list[int], keys: int, size: int) -> list[int]:
        groups: dict[int, list[int]] = {}
        found = []
        for x in d:
            group = groups.setdefault(x % keys, [])
            group.append(x)
            if len(group) == size:
                found.append(sum(groups.pop(x % keys)))
        return found + [sum(groups[key]) for key in sorted(groups)]

    def _nested(self, d: list[int], n: int) -> list[int]:
        return [x + sum(y + x for y in range(x % (n + 2)) if y + x > 1) for x in d]


def _rows(d: list[int], size: int, drop: bool) -> list[list[int]]:
    rows = [d[i : i + size] for i in range(0, len(d), size)]
    return [row for row in rows if len(row) == size or not drop]
