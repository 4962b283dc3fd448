"""Measure what an installation of Headrace takes on disk; ends in an error above the promise.

    python3 tools/installed_size.py            # all packages, in a fresh environment
    python3 tools/installed_size.py graph      # one of them with what it needs

Counts everything pip put into the environment, compiled .pyc files included, and not pip itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROMISE_MB = 200

# Runs inside the environment: bytes of every installed distribution, by name.
MEASURE = """
import json
from importlib.metadata import distributions
sizes = {}
for dist in distributions():
    paths = {file.locate() for file in dist.files or ()}
    sizes[dist.name] = sum(path.stat().st_size for path in paths if path.is_file())
print(json.dumps(sizes))
"""


def main() -> int:
    packages = sys.argv[1:] or ["formats", "graph", "runtime", "kernels"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = str(Path(folder) / "bin" / "python")
        command = [python, str(ROOT / "tools" / "wheelhouse.py"), *packages]
        subprocess.run(command, check=True)
        measured = subprocess.run([python, "-c", MEASURE], check=True, capture_output=True)
    sizes = json.loads(measured.stdout)
    for name in ("pip", "setuptools"):
        sizes.pop(name, None)
    for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
        print(f"{size / 1e6:8.1f} MB  {name}")
    total = sum(sizes.values()) / 1e6
    print(f"{total:8.1f} MB  in all (promised: under {PROMISE_MB} MB)")
    return 0 if total < PROMISE_MB else 1


if __name__ == "__main__":
    sys.exit(main())
