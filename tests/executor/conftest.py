"""A fresh graph for each test, and the helpers of this room importable."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace.graph as hr

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def graph() -> Iterator[hr.Graph]:
    with hr.Graph().as_default() as fresh:
        yield fresh
