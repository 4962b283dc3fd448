"""Run the checks of the project; needs nothing but Python.

    python3 tools/check.py                 # all that CI runs
    python3 tools/check.py -e graph,lint   # some of it; arguments go to tox
    python3.13 tools/check.py              # the same on another Python

tox and all it makes live in .check/, which git ignores.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".check"
TAG = f"py{sys.version_info.major}{sys.version_info.minor}"
TOX = "tox>=4.20,<5"


def main() -> int:
    if sys.version_info < (3, 10):  # noqa: UP036 (a bare Python may be older)
        print(f"check: Python is {sys.version.split()[0]}, Headrace needs 3.10 or later")
        return 1
    environment = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "PYTHONPATH")}
    environment["HEADRACE_CHECK_DIR"] = str(HOME)
    # At least two at once: a browser test waits, and so does the set-up of an environment.
    at_once = max(2, (os.cpu_count() or 1) // 2)
    how = ["run-parallel", "--parallel", str(at_once)]
    if sys.argv[1:] and not sys.argv[1].startswith("-"):
        how = []  # a subcommand of tox, such as list
    command = [str(tox_python()), "-m", "tox", *how, "--workdir", str(HOME / f"envs-{TAG}")]
    command += sys.argv[1:]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode


def tox_python() -> Path:
    """Returns: the Python of an environment that has tox; makes it on the first call."""
    home = HOME / f"tox-{TAG}"
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    ready = home / "ready"
    if not ready.exists():
        HOME.mkdir(exist_ok=True)
        result = subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)])
        if result.returncode != 0:
            raise SystemExit(
                "check: this Python cannot make virtual environments:"
                " install its venv module (on Debian: apt install python3-venv)"
            )
        subprocess.run([str(python), "-m", "pip", "install", "-q", TOX], check=True)
        ready.touch()
    return python


if __name__ == "__main__":
    sys.exit(main())
