"""Slurm's lists of nodes and of tasks per node: "node[01-03,7],login" and "2(x3),1"."""

from __future__ import annotations

import re

from headrace.distributed.engines.resolvers.variables import invalid

_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
_COUNT = re.compile(r"(\d{1,9})(?:\(x(\d{1,9})\))?", re.ASCII)
_MOST_NODES = 100_000


def expand_hostlist(text: str) -> list[str]:
    """Returns the names of nodes, in the order of the list.

    Raises: InvalidArgumentError for text that is not such a list.
    Example:
      >>> expand_hostlist("node[01-03,7],gpu[1-2]-ib")
      ['node01', 'node02', 'node03', 'node7', 'gpu1-ib', 'gpu2-ib']
    """
    names = [name for part in _split(text) for name in _expand(part, text)]
    if not names:
        raise invalid(f"{text!r} names no node")
    return names


def _split(text: str) -> list[str]:
    """Splits at the commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for place, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if depth not in (0, 1):
            raise invalid(f"the brackets of {text!r} do not match")
        if character == "," and not depth:
            parts.append(text[start:place])
            start = place + 1
    if depth:
        raise invalid(f"the brackets of {text!r} do not match")
    return [part for part in [*parts, text[start:]] if part]


def _expand(part: str, text: str) -> list[str]:
    before, bracket, rest = part.partition("[")
    if not bracket:
        return [before]
    inside, _, after = rest.partition("]")
    numbers: list[str] = []
    for piece in inside.split(","):
        match = _RANGE.fullmatch(piece)
        if match is None:
            raise invalid(f"{text!r}: {piece!r} is not a number or a range of numbers")
        first, last = match[1], match[2] or match[1]
        if not int(first) <= int(last) < int(first) + _MOST_NODES:
            raise invalid(f"{text!r}: {piece!r} is not a range of numbers")
        numbers += [str(n).zfill(len(first)) for n in range(int(first), int(last) + 1)]
    ends = _expand(after, text)
    return [f"{before}{n}{end}" for n in numbers for end in ends]


def expand_counts(text: str) -> list[int]:
    """Returns the number of tasks of each node.

    Raises: InvalidArgumentError for text that is not such a list.
    Example:
      >>> expand_counts("2(x3),1")
      [2, 2, 2, 1]
    """
    counts: list[int] = []
    for part in text.split(","):
        match = _COUNT.fullmatch(part)
        if match is None or int(match[2] or 1) > _MOST_NODES:
            raise invalid(f"{text!r} is not a list of tasks per node, such as '2(x3),1'")
        counts += [int(match[1])] * int(match[2] or 1)
    return counts
