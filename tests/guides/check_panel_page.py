"""Checks the types of the page that docs/guides/adding_a_panel.md adds, in a copy of the front end.

It runs where the type checker is installed: `tox -e frontend`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from guide import ROOT, apply_edit, blocks

sys.path.insert(0, str(ROOT / "packages" / "board" / "_build"))

from frontend_build import node  # noqa: E402

FRONTEND = Path("packages", "board", "frontend")


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / FRONTEND
        ignored = shutil.ignore_patterns("node_modules", "dist")
        shutil.copytree(ROOT / FRONTEND, copy, ignore=ignored)
        (copy / "node_modules").symlink_to(ROOT / FRONTEND / "node_modules")
        for block in blocks(ROOT / "docs" / "guides" / "adding_a_panel.md"):
            if block.edit is not None and block.edit["path"].startswith(str(FRONTEND)):
                apply_edit(block, Path(folder))
        tsc = copy / "node_modules" / "typescript" / "bin" / "tsc"
        return subprocess.run([node(), tsc, "--noEmit"], cwd=copy).returncode


if __name__ == "__main__":
    sys.exit(main())
