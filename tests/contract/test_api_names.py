"""docs/api.md is correct about which names of TensorFlow 1.x exist."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import headrace.graph as hr

LISTED = [
    line.split("\t")
    for line in Path(__file__).with_name("api_names.tsv").read_text().splitlines()[1:]
]
DOCUMENT = (Path(__file__).parents[2] / "docs" / "api.md").read_text()


def _is_here(name: str) -> bool:
    found = hr
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            return False
    return True


@pytest.mark.parametrize(("name", "state"), [(row[0], row[3]) for row in LISTED])
def test_public_names_agree_with_the_list(name: str, state: str) -> None:
    assert _is_here(name) == (state == "here"), "change api_names.tsv and the counts in docs/api.md"


def test_document_has_the_counts_of_the_list() -> None:
    counted = Counter((row[1], row[3]) for row in LISTED)
    for which in ("programs", "wider"):
        names = sum(n for (of, _), n in counted.items() if of == which)
        here = counted[which, "here"]
        assert f"| {which} | {names} | {here} | {names - here} |" in DOCUMENT
    reported = {
        row[0]: (int(row[1]), int(row[2]))
        for row in re.findall(r"^\| (\w+) \| (\d+) \| (\d+) \| \D", DOCUMENT, re.M)
    }
    states = {state for _, state in counted if state != "here"}
    assert reported == {s: (counted["programs", s], counted["wider", s]) for s in states}
