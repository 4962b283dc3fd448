"""Writes docs/bad_input.md: the error of each invalid-input case of tests/bad_input."""

from __future__ import annotations

import sys
import tempfile
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "bad_input"))

HEAD = """# Bad input

The error of each kind of invalid input: its class, its canonical code (`hr.errors`), its message,
and for files the offset of the corruption. `DIR` is the user's folder, `your_program.py:LINE` the
line of the program that created the node, `0xCRC` a checksum. After each error the program can
continue: no case crashes, hangs or loses data. `tests/bad_input` runs each row, and
`tools/bad_input_table.py` writes this page.
"""


def table() -> str:
    """Runs every case, and returns the document."""
    from all_cases import CASES
    from bad_case import outcome

    parts = [HEAD.rstrip("\n")]
    for section, cases in groupby(CASES, lambda case: case.section):
        parts.append(f"\n## {section}\n\n| what is wrong | error | code | message | offset |")
        parts.append("|---|---|---|---|---|")
        for case in cases:
            with tempfile.TemporaryDirectory() as folder:
                parts.append(outcome(case, Path(folder)).row(case.what))
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    (ROOT / "docs" / "bad_input.md").write_text(table(), encoding="utf-8")
