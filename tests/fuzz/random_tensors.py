"""Random dtypes, shapes and values: most are valid, some extreme."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

from headrace.formats.dtypes import as_dtype

PLAIN = (1, 2, 3, 9, 10, 7)  # float, double, int32, int64, bool, string: what most ops take
ALL = (*PLAIN, 19, 14, 4, 5, 6, 8, 17, 18, 22, 23)
ODD = (0, 11, 12, 13, 15, 16, 20, 21, 24, 25, 29, 101, 103, 107, 1000)
# Numbers whose DType NumPy has an array for.
WITH_ARRAYS = frozenset(ALL)

SIZES = (0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 16, 17)
# Counts that small integers cannot hold, and their neighbours: a count of 256 is zero in int8.
WRAPPING = (127, 128, 255, 256, 257, 32768, 65535, 65536)
HUGE = (2**31 - 1, 2**31, 2**33, 2**40, 2**62, 2**63 - 1)
INTS = (-1, 0, 1, 2, 3, 4, 5, 7, 8, 100, -2, -3, -100)
ABSURD_INTS = (
    2**31 - 1,
    -(2**31),
    2**31,
    2**32,
    2**33,
    2**62,
    -(2**62),
    2**63 - 1,
    -(2**63),
    10**9,
)
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-3, 2.0, 10.0)
ABSURD_FLOATS = (
    float("nan"), float("inf"), float("-inf"), 1e38, -1e38, 1e-42, 5e-324, 1e308, 7e9, 1e19, -1e19,
    2.0**31, 2.0**63,
)  # fmt: skip
WORDS = (
    b"", b"a", b"stone", b"1", b"-1", b"1.5e3", b"nan", b"1e999", b"9223372036854775808", b"a,b,c",
    b"\xff\x00\xfe", "größe".encode(), b"%d", b"%s%s%s%n", b"(", b"[a-", b".*", b"x" * 300,
    b"float32", b"int32", b"2 2 0,1:0,2", b"4 -", b"\x0a\x02\x08\x01", b"\x08\x80\x80\x80\x80\x10",
    b"GIF89a\x01\x00\x01\x00", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0",
    b"RIFF\x24\x00\x00\x00WAVE", b"0", b"true", b"file", b"*", b"weights",
)  # fmt: skip


def dtype(dice: random.Random, allowed: tuple[int, ...] = ()) -> int:
    """A DataType number: mostly an allowed one."""
    if dice.random() < 0.02:
        return dice.choice(ODD)
    if allowed and dice.random() < 0.97:
        common = [n for n in allowed if n in PLAIN]
        return dice.choice(common if common and dice.random() < 0.6 else allowed)
    return dice.choice(PLAIN if dice.random() < 0.6 else ALL)


def shape(dice: random.Random, rank: int | None = None) -> tuple[int, ...]:
    """A small shape, or sometimes one that is long, of high rank, or large with a zero."""
    roll = dice.random()
    if roll < 0.01:
        return (0, dice.choice(HUGE))
    if roll < 0.015:
        return (1,) * dice.choice([9, 20, 32, 64])
    if roll < 0.03:
        return (dice.choice([1000, 4096, 70000]),)
    if roll < 0.06:
        few = [dice.choice((1, 1, 2, 3)) for _ in range(dice.randrange(4))]
        few.insert(dice.randrange(len(few) + 1), dice.choice(WRAPPING))
        return tuple(few)
    if rank is None:
        rank = dice.choice((0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6))
    return tuple(dice.choice(SIZES) for _ in range(rank))


def shape_like(dice: random.Random, base: tuple[int, ...]) -> tuple[int, ...]:
    """A shape related to another, as the inputs of one op are."""
    roll = dice.random()
    if roll < 0.5 or not base:
        return base if roll < 0.8 else shape(dice)
    if roll < 0.58:
        return ()
    if roll < 0.66:
        return base[-1:]
    if roll < 0.71:
        return base[:1]
    if roll < 0.76:
        return base[1:]
    if roll < 0.80:
        return tuple(1 if dice.random() < 0.5 else n for n in base)
    if roll < 0.84:
        last = base[-1] + dice.choice([-1, 1]) if base[-1] else 1
        return (*base[:-1], min(last, 2**63 - 1))
    if roll < 0.88:
        return tuple(reversed(base))
    if roll < 0.91:
        return (len(base),)
    if roll < 0.94:
        return (*base, dice.choice(SIZES))
    return shape(dice)


def tensor(dice: random.Random, number: int, dims: tuple[int, ...]) -> np.ndarray:
    """Values of one style: ordinary, small integers, all equal, or with extreme ones."""
    if math.prod(size or 1 for size in dims) > 1 << 55:  # more than NumPy can have
        dims = (0, 1 << 33)
    dims = dims[:64]  # nor has it more axes
    count = math.prod(dims)
    if count > 1 << 20:
        dims, count = (3,), 3
    kind = np.dtype(as_dtype(number).as_numpy_dtype)
    style = dice.random()
    if kind.kind == "O":
        words = dice.sample(WORDS, 3)
        return _filled([dice.choice(words) for _ in range(count)], dims)
    if count > 64:  # a short pattern, repeated: drawing each costs more than the run
        few = tensor(dice, number, (dice.choice([13, 64]),))
        return np.resize(few, dims)
    if kind.kind == "b":
        return np.array([dice.random() < 0.5 for _ in range(count)], bool).reshape(dims)
    if kind.kind in "iu":
        return _integers(dice, style, count).astype(np.int64).astype(kind).reshape(dims)
    numbers = _floats(dice, style, count)
    with np.errstate(all="ignore"):
        if kind.kind == "c":
            return (numbers + 1j * _floats(dice, style, count)).astype(kind).reshape(dims)
        return numbers.astype(kind).reshape(dims)


def _integers(dice: random.Random, style: float, count: int) -> np.ndarray:
    if style < 0.3:
        drawn = [dice.randrange(4) for _ in range(count)]
    elif style < 0.4:
        drawn = sorted(dice.randrange(6) for _ in range(count))
    elif style < 0.5:
        drawn = [dice.choice((1, 1, 2, 3, 8)) for _ in range(count)]
    elif style < 0.6:
        drawn = list(range(count))
    elif style < 0.7:
        drawn = [dice.choice((0, 1, -1))] * count
    elif style < 0.88:
        drawn = [dice.choice(INTS) for _ in range(count)]
    else:
        drawn = [dice.choice(INTS if dice.random() < 0.5 else ABSURD_INTS) for _ in range(count)]
    return np.array(drawn, np.int64)


def _floats(dice: random.Random, style: float, count: int) -> np.ndarray:
    if style < 0.5:
        drawn = [dice.uniform(-2, 2) for _ in range(count)]
    elif style < 0.6:
        drawn = [dice.random() for _ in range(count)]
    elif style < 0.7:
        drawn = [float(dice.randrange(5)) for _ in range(count)]
    elif style < 0.85:
        drawn = [dice.choice(FLOATS) for _ in range(count)]
    else:
        both = (*FLOATS, *ABSURD_FLOATS)
        drawn = [dice.choice(both) for _ in range(count)]
    return np.array(drawn, np.float64)


def _filled(values: list[Any], dims: tuple[int, ...]) -> np.ndarray:
    result = np.empty(len(values), object)
    result[:] = values
    return result.reshape(dims)
