"""What the README shows is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_program_prints_what_the_readme_says():
    program, printed = re.search(r"```python\n(.*?)```.*?```\n(.*?)```", README, re.DOTALL).groups()
    assert len(program.splitlines()) == 15
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    got, expected = (
        np.array([line.split() for line in t.splitlines()], float) for t in (done.stdout, printed)
    )
    np.testing.assert_allclose(got, expected, rtol=1e-4)  # processors round differently


def test_files_and_commands_that_the_readme_names_are_there():
    named = re.findall(r"\]\(([\w./-]+)\)", README) + re.findall(r"python3 ([\w/]+\.py)", README)
    named += re.findall(r"\./(packages/\w+)", README) + re.findall(r"-r (\S+\.txt)", README)
    assert len(named) > 8
    assert not [name for name in named if not (ROOT / name).exists()]
