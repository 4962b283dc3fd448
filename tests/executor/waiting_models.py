"""Plain Python models of queues, accumulators, barriers, staging areas and mutexes.

A model is what one object does if its operations begin one after the other. `begin(number, call)`
begins an operation and returns those that end: pairs of number and outcome. An outcome is a value
as `rounded` makes it, or the name of an error. Operations that end later wait in the model.
"""

from __future__ import annotations

import copy
from typing import Any

Outcome = Any
Ends = list[tuple[int, Outcome]]


class Model:
    """Base class: operations that wait are tried again after each change, the oldest first."""

    def copy(self) -> Any:
        return copy.deepcopy(self)

    def begin(self, number: int, call: tuple[Any, ...]) -> Ends:
        raise NotImplementedError


class QueueModel(Model):
    """A queue of int32 numbers, first in first out, or the least first."""

    def __init__(self, capacity: int, least: bool = False) -> None:
        self.capacity, self.least = capacity, least
        self.items: list[int] = []
        self.closed = False
        self.puts: list[list[Any]] = []  # [number, elements left, is a close]
        self.takes: list[list[Any]] = []  # [number, how many, one element, up to, taken]

    def begin(self, number: int, call: tuple[Any, ...]) -> Ends:
        kind, *rest = call
        ends: Ends = []
        if kind == "size":
            return [(number, len(self.items))]
        if kind == "cancel":
            self.closed = True
            ends = [(n, "CancelledError") for n, _, _ in self.puts] + [(number, None)]
            self.puts = []
        elif kind in ("put", "close"):
            self.puts.append([number, list(rest[0]) if rest else [], kind == "close"])
        else:
            n = rest[0] if rest else 1
            self.takes.append([number, n, kind == "take", kind == "take_up_to", []])
        return ends + self.settle()

    def settle(self) -> Ends:
        ends: Ends = []
        while True:
            ended = self.settle_puts() + self.settle_takes()
            if not ended and not self.moved:
                return ends
            ends += ended

    def settle_puts(self) -> Ends:
        ends: Ends = []
        self.moved = False
        while self.puts:
            number, left, is_close = self.puts[0]
            if self.closed:
                ends.append((number, "CancelledError"))
            elif is_close:
                self.closed = True
                ends.append((number, None))
            else:
                while left and len(self.items) < self.capacity:
                    self.items.append(left.pop(0))
                    self.moved = True
                if left:
                    break
                ends.append((number, None))
            self.puts.pop(0)
        return ends

    def settle_takes(self) -> Ends:
        ends: Ends = []
        while self.takes:
            number, n, one, up_to, taken = self.takes[0]
            while len(taken) < n and self.items:
                at = self.items.index(min(self.items)) if self.least else 0
                taken.append(self.items.pop(at))
                self.moved = True
            if len(taken) < n and not self.closed:
                break
            if len(taken) == n or (up_to and taken):
                ends.append((number, taken[0] if one else tuple(taken)))
            else:
                ends.append((number, "OutOfRangeError"))
                self.items = taken + self.items
            self.takes.pop(0)
        return ends


class AccumulatorModel(Model):
    """An accumulator of scalars that returns their sum; as a sparse one, of single rows."""

    def __init__(self, sparse: bool = False) -> None:
        self.sparse = sparse
        self.sum: dict[int, int] = {}
        self.count = self.step = 0
        self.takes: list[tuple[int, int]] = []

    def begin(self, number: int, call: tuple[Any, ...]) -> Ends:
        kind, *rest = call
        if kind == "count":
            return [(number, self.count)]
        ends: Ends = []
        if kind == "take":
            self.takes.append((number, rest[0]))
        else:
            if kind == "step":
                self.step = rest[0]
            elif rest[2] >= self.step:
                row, value, _ = rest
                self.sum[row] = self.sum.get(row, 0) + value
                self.count += 1
            ends.append((number, None))
        while self.takes and self.count >= self.takes[0][1]:
            taken = tuple(sorted(self.sum.items())) if self.sparse else sum(self.sum.values())
            ends.append((self.takes.pop(0)[0], taken))
            self.sum, self.count, self.step = {}, 0, self.step + 1
        return ends


class BarrierModel(Model):
    """A barrier of two numbers for each key; a take returns (key, numbers) of one tuple."""

    def __init__(self) -> None:
        self.incomplete: dict[str, list[Any]] = {}  # key: [index, first, second]
        self.ready: list[tuple[int, int, str, int, int]] = []
        self.closed = self.cancelled = False
        self.takes: list[list[Any]] = []  # [number, how many, small, taken]
        self.index = self.order = 0

    def begin(self, number: int, call: tuple[Any, ...]) -> Ends:
        kind, *rest = call
        if kind == "sizes":
            return [(number, len(self.ready if rest[0] else self.incomplete))]
        outcome: Outcome = None
        if kind == "take":
            self.takes.append([number, *rest, []])
            return self.settle()
        if kind == "insert":
            outcome = self.insert(*rest)
        elif self.closed and (self.cancelled or not rest[0]):
            outcome = "CancelledError"
        else:
            self.closed, self.cancelled = True, rest[0]
            if rest[0]:
                self.incomplete = {}
        return [(number, outcome), *self.settle()]

    def insert(self, key: str, component: int, value: int) -> Outcome:
        if self.closed and (self.cancelled or key not in self.incomplete):
            return "CancelledError"
        held = self.incomplete.get(key)
        if held is None:
            held = self.incomplete[key] = [self.index, None, None]
            self.index += 1
        if held[1 + component] is not None:
            return "InvalidArgumentError"
        held[1 + component] = value
        if None not in held:
            self.ready.append((held[0], self.order, key, held[1], held[2]))
            self.order += 1
            del self.incomplete[key]
        return None

    def settle(self) -> Ends:
        ends: Ends = []
        while self.takes:
            number, n, small, taken = self.takes[0]
            while len(taken) < n and self.ready:
                taken.append(self.ready.pop(self.ready.index(min(self.ready))))
            if len(taken) < n:
                to_come = 0 if small else len(self.incomplete)
                if not self.closed or (not small and len(taken) + to_come >= n):
                    break
                if not small or not taken:
                    self.ready += taken
                    ends.append((self.takes.pop(0)[0], "OutOfRangeError"))
                    continue
            ends.append((number, tuple(t[2:] for t in taken)))
            self.takes.pop(0)
        return ends


class StagingModel(Model):
    """A staging area of numbers."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.items: list[int] = []
        self.puts: list[tuple[int, int]] = []
        self.takes: list[tuple[int, str, int]] = []

    def begin(self, number: int, call: tuple[Any, ...]) -> Ends:
        kind, *rest = call
        if kind == "size":
            return [(number, len(self.items))]
        ends: Ends = []
        if kind == "clear":
            self.items = []
            ends.append((number, None))
        elif kind == "put":
            self.puts.append((number, rest[0]))
        else:
            self.takes.append((number, kind, rest[0] if rest else 0))
        moved = True
        while moved:
            moved = False
            while self.puts and len(self.items) < self.capacity:
                put, value = self.puts.pop(0)
                self.items.append(value)
                ends.append((put, None))
                moved = True
            for take in list(self.takes):
                if take[2] < len(self.items):
                    self.takes.remove(take)
                    value = self.items[take[2]] if take[1] == "peek" else self.items.pop(0)
                    ends.append((take[0], value))
                    moved = True
        return ends


class KeyedStagingModel(Model):
    """An ordered staging area of pairs of numbers by key, which may be put and taken in parts."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.complete: dict[int, list[Any]] = {}
        self.incomplete: dict[int, list[Any]] = {}
        self.puts: list[tuple[Any, ...]] = []
        self.takes: list[tuple[Any, ...]] = []

    def begin(self, number: int, call: tuple[Any, ...]) -> Ends:
        kind, *rest = call
        ends: Ends = []
        (self.puts if kind == "put" else self.takes).append((number, kind, *rest))
        moved = True
        while moved:
            moved = False
            while self.puts and (outcome := self.put(*self.puts[0][2:])) is not False:
                ends.append((self.puts.pop(0)[0], outcome))
                moved = True
            for take in list(self.takes):
                key = take[2] if take[1] != "take_any" else min(self.complete, default=None)
                if key in self.complete:
                    self.takes.remove(take)
                    ends.append((take[0], self.take(take[1], key)))
                    moved = True
        return ends

    def put(self, key: int, index: int, value: int) -> Outcome:
        held = self.incomplete.get(key)
        if held is None:
            self.incomplete[key] = [value if i == index else None for i in range(2)]
            return None
        if held[index] is not None:
            return "InvalidArgumentError"
        if len(self.complete) >= self.capacity:
            return False
        held[index] = value
        self.complete.setdefault(key, self.incomplete.pop(key))
        return None

    def take(self, kind: str, key: int) -> Outcome:
        values = tuple(self.complete[key])
        if kind != "peek":
            del self.complete[key]
        return (key, *values) if kind == "take_any" else values


class MutexModel(Model):
    """A critical section that increments a number and returns it."""

    def __init__(self) -> None:
        self.value = 0

    def begin(self, number: int, call: tuple[Any, ...]) -> Ends:
        self.value += call[1]
        return [(number, self.value)]
