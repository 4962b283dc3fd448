"""Writes docs/bad_input.md: what bad input ends in, case by case (tests/bad_input)."""

from __future__ import annotations

import sys
import tempfile
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "bad_input"))

HEAD = """# Bad input

What a mistake ends in: the class of the error, its canonical code (of `hr.errors`), its text, and
for a file the offset of what is damaged. `DIR` is the user's folder, `your_program.py:LINE` the
line of his program that made the node, `0xCRC` a checksum. A program goes on after any of them: no
case crashes, hangs or loses data. `tests/bad_input` runs each row; `tools/bad_input_table.py` wrote
them.
"""


def table() -> str:
    """The whole document, from running every case."""
    from all_cases import CASES
    from bad_case import outcome

    parts = [HEAD]
    for section, cases in groupby(CASES, lambda case: case.section):
        parts.append(f"\n## {section}\n\n| what is wrong | error | code | message | offset |")
        parts.append("|---|---|---|---|---|")
        for case in cases:
            with tempfile.TemporaryDirectory() as folder:
                parts.append(outcome(case, Path(folder)).row(case.what))
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    (ROOT / "docs" / "bad_input.md").write_text(table(), encoding="utf-8")
