"""Invalid input raises the errors listed in docs/bad_input.md: class, code, message, offset."""

from __future__ import annotations

from pathlib import Path

import pytest
from all_cases import CASES
from bad_case import Case, outcome

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "bad_input.md"


def _rows() -> dict[tuple[str, str], str]:
    """Returns the rows of the document by section and case."""
    rows, section = {}, ""
    for line in DOCUMENT.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif line.startswith("| ") and not line.startswith("| what is wrong"):
            rows[section, line[2:].split(" | ")[0]] = line
    return rows


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.section}: {case.what}")
def test_case_raises_the_documented_error(case: Case, tmp_path: Path) -> None:
    assert outcome(case, tmp_path).row(case.what) == _rows()[case.section, case.what]


def test_document_lists_exactly_the_cases() -> None:
    assert list(_rows()) == [(case.section, case.what) for case in CASES]
