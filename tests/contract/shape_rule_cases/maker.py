"""Random cases of the shape rules, mostly close to valid ones, so that both outcomes occur."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

sizes = st.integers(0, 4)
shapes = st.lists(sizes, max_size=4).map(tuple)
axes = st.integers(-5, 5)


@dataclass
class Case:
    """One question.

    Attributes:
      inputs: complete shapes.
      values: arrays by input, where the value is known.
      missing: whether a value that the rule reads is missing.
      attrs: as ShapeQuery has them.
    """

    inputs: list[tuple[int, ...]]
    attrs: dict[str, Any] = field(default_factory=dict)
    values: dict[int, np.ndarray] = field(default_factory=dict)
    n_outputs: int = 1
    missing: bool = False


class Maker:
    """Builds a case from a hypothesis draw."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.case = Case([])

    def some(self, low: int = 0, high: int = 4) -> tuple[int, ...]:
        """Draws a shape of rank low to high, sometimes of any rank."""
        if self.rarely():
            return self.draw(shapes)
        return tuple(self.draw(st.lists(sizes, min_size=low, max_size=high)))

    def rarely(self) -> bool:
        return self.draw(st.integers(0, 11)) == 0

    def near(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the shape, sometimes changed."""
        if not self.rarely():
            return tuple(shape)
        how, changed = self.draw(st.integers(0, 2)), list(shape)
        if how == 0 or not changed:
            changed.insert(self.draw(st.integers(0, len(changed))), self.draw(sizes))
        elif how == 1:
            del changed[self.draw(st.integers(0, len(changed) - 1))]
        else:
            changed[self.draw(st.integers(0, len(changed) - 1))] = self.draw(sizes)
        return tuple(changed)

    def narrow(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Draws a shape that usually broadcasts to this one."""
        kept = [1 if self.draw(st.integers(0, 3)) == 0 else d for d in shape]
        return self.near(tuple(kept[self.draw(st.integers(0, len(kept))) :]))

    def input(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        self.case.inputs.append(tuple(shape[:8]))
        return self.case.inputs[-1]

    def value(self, numbers: Any, shape: tuple[int, ...] | None = None) -> None:
        """Draws an input, usually with a known value."""
        array = np.asarray(numbers, self.draw(st.sampled_from([np.int32, np.int64])))
        if shape is not None:
            array = array.reshape(shape)
        if self.rarely():
            array = array[None]
        if self.rarely():
            self.case.missing = True
        else:
            self.case.values[len(self.case.inputs)] = array
        self.case.inputs.append(array.shape)

    def ints(self, n: int, low: int = 0, high: int = 4) -> list[int]:
        if self.rarely():
            n, low = self.draw(st.integers(0, 4)), low - 2
        return self.draw(st.lists(st.integers(low, high), min_size=n, max_size=n))

    def axis(self, rank: int, more: int = 0) -> int:
        n = rank + more
        if n == 0 or self.rarely():
            return self.draw(axes)
        return self.draw(st.integers(-n, n - 1))

    def flag(self) -> bool:
        return self.draw(st.booleans())

    def attr(self, **attrs: Any) -> None:
        self.case.attrs.update(attrs)


RULES: dict[str, Any] = {}


def rule(*names: str) -> Any:
    def register(make: Any) -> Any:
        for name in names:
            RULES[name] = (name, make)
        return make

    return register


def cases(name: str) -> st.SearchStrategy[Case]:
    """Returns the strategy of cases of a rule."""

    @st.composite
    def build(draw: Any) -> Case:
        maker = Maker(draw)
        RULES[name][1](maker, name)
        return maker.case

    return build()


def elements(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=np.int64))
