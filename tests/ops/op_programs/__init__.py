"""Short graphs of ops that one node cannot show: their handles are made, filled and read.

Each module is one subject. Its programs build nodes in the default graph and return the runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

Runs = list[list[Any]]


class Program(NamedTuple):
    """A graph and its runs.

    Attributes:
      build: adds the nodes; what it returns is run in order, a list of tensors and operations each.
      random: whether two right executors may give different values.
      not_judged: why TensorFlow cannot run it.
      differences: of a run, by its number, how TensorFlow's outcome differs.
    """

    name: str
    build: Callable[[], Runs]
    random: bool = False
    not_judged: str = ""
    differences: Mapping[int, str] = {}


def programs() -> list[Program]:
    """The programs of all modules."""
    stems = sorted(p.stem for p in Path(__file__).parent.glob("*.py") if p.stem != "__init__")
    return [one for stem in stems for one in import_module(f"op_programs.{stem}").PROGRAMS]
