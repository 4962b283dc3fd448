"""The README's program prints what it says; the files and dependencies that it names exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_program_prints_the_output_in_the_readme():
    program, printed = re.search(r"```python\n(.*?)```.*?```\n(.*?)```", README, re.DOTALL).groups()
    assert len(program.splitlines()) == 15
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    got, expected = (
        np.array([line.split() for line in t.splitlines()], float) for t in (done.stdout, printed)
    )
    np.testing.assert_allclose(got, expected, rtol=1e-4)  # processors round differently


def test_files_and_commands_of_the_readme_exist():
    named = re.findall(r"\]\(([\w./-]+)\)", README) + re.findall(r"python3 ([\w/]+\.py)", README)
    named += re.findall(r"\./(packages/\w+)", README)
    assert len(named) > 8
    assert not [name for name in named if not (ROOT / name).exists()]


def test_package_table_names_every_dependency():
    for package in ("formats", "graph", "runtime", "kernels", "distributed", "board"):
        row = next(line for line in README.splitlines() if f"(packages/{package})" in line)
        needs = {name.strip().lower() for name in re.split("[,;]", row.split("|")[3])}
        project = (ROOT / "packages" / package / "pyproject.toml").read_text().split("[project]")[1]
        listed = re.search(r"^dependencies = \[(.*?)^\]", project, re.DOTALL | re.MULTILINE)
        if listed is None:
            setup = (ROOT / "packages" / package / "setup.py").read_text()
            listed = re.search(r"install_requires=\[(.*?)^    \]", setup, re.DOTALL | re.MULTILINE)
        assert listed is not None
        declared = set(re.findall(r'^\s*"([A-Za-z0-9_-]+)', listed[1], re.MULTILINE))
        declared |= {"formats"} - {package}
        assert declared - {"headrace-formats"} <= needs, package
        assert needs - {"a kernel library"} <= declared, package
