"""Build the wheels of this checkout once, and install some of them where this script runs.

    python tools/wheelhouse.py formats runtime     # into the environment of this Python

A wheel is built again when anything it is made from changed: its name in the wheelhouse is bound to
a hash of those files, so a test environment never runs stale code. Compilers run only for objects
that changed (packages/*/_build/native_build.py).
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TAG = f"py{sys.version_info.major}{sys.version_info.minor}"
HOME = Path(os.environ.get("HEADRACE_CHECK_DIR", ROOT / ".check"))
# Sanitized wheels and objects (packages/*/_build/native_build.py) lie beside the others.
BUILD = "-".join(filter(None, [TAG, os.environ.get("HEADRACE_SANITIZE")]))
WHEELS = HOME / f"wheels-{BUILD}"
COMPILED = ("runtime", "kernels", "board")
MADE_BY_BUILDS = ("_pb2.py", "_pb2.pyi", ".so", ".pyc", ".generated_from")
MADE_FOLDERS = (
    "__pycache__",
    "build",
    "lib",
    "assets",
    "node_modules",
    ".pytest_cache",
    ".hypothesis",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", nargs="+", help="which packages to install here")
    parser.add_argument("--lowest", action="store_true", help="with the lowest declared versions")
    options = parser.parse_args()
    started = time.monotonic()
    HOME.mkdir(exist_ok=True)
    with open(HOME / f"wheels-{TAG}.lock", "w") as lock:  # two tox environments build in turn
        fcntl.flock(lock, fcntl.LOCK_EX)
        needed = list(dict.fromkeys(["formats", *options.packages]))
        builder()
        # Side by side: while one links or packs, the other's compilers have all cores.
        with ThreadPoolExecutor(len(needed)) as pool:
            wheels = dict(zip(needed, pool.map(wheel_of, needed), strict=True))
    seconds = time.monotonic() - started
    print(f"wheelhouse: {len(wheels)} wheels ready in {seconds:.1f} s", flush=True)
    install([wheels[p] for p in options.packages], wheels["formats"], options.lowest)


def install(wheels: list[Path], formats: Path, lowest: bool) -> None:
    """Installs the wheels and what they declare; ours again: same version, new code."""
    pip = [sys.executable, "-m", "pip", "install", "-q", "--find-links", str(WHEELS)]
    bounds = lowest_bounds([formats, *wheels]) if lowest else []
    run([*pip, *bounds, *map(str, wheels)])
    fresh = list(dict.fromkeys([formats, *wheels]))
    run([*pip, "--force-reinstall", "--no-deps", *map(str, fresh)])


def lowest_bounds(wheels: list[Path]) -> list[str]:
    """Returns: `name==X` for every `name>=X` that the wheels declare for this Python."""
    from email.parser import Parser
    from zipfile import ZipFile

    from packaging.requirements import Requirement

    bounds = set()
    for wheel in wheels:
        with ZipFile(wheel) as archive:
            name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
            metadata = Parser().parsestr(archive.read(name).decode())
        for text in metadata.get_all("Requires-Dist", []):
            need = Requirement(text)
            if need.name.startswith("headrace") or (need.marker and not need.marker.evaluate()):
                continue
            bounds |= {f"{need.name}=={s.version}" for s in need.specifier if s.operator == ">="}
    return sorted(bounds)


def wheel_of(package: str) -> Path:
    """Returns: the wheel of packages/<package>, built now unless one of the same files exists."""
    stamp = WHEELS / f"{package}.made_from"
    state = hash_of(package)
    if stamp.exists():
        made_from, name = stamp.read_text().split()
        if made_from == state and (WHEELS / name).exists():
            return WHEELS / name
    for old in WHEELS.glob(f"headrace_{package}-*.whl"):
        old.unlink()
    folder = ROOT / "packages" / package
    environment = {
        **os.environ,
        "HEADRACE_RELEASE": "1",  # metadata with ranges, which pip finds in the wheelhouse
        "HEADRACE_REQUIRE_NATIVE": "1",  # or the board's checks would test its fallbacks
        "HEADRACE_BUILD_DIR": str(HOME / f"build-{BUILD}" / package),
    }
    print(f"wheelhouse: build {package}", flush=True)
    command = [str(builder()), "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps"]
    run([*command, "-w", str(WHEELS), str(folder)], environment)
    wheel = next(WHEELS.glob(f"headrace_{package}-*.whl"))
    stamp.write_text(f"{state} {wheel.name}")
    return wheel


def hash_of(package: str) -> str:
    """Returns: a hash of the names and contents of all files that a wheel of package reads."""
    state = hashlib.sha256(f"{sys.version} {BUILD}".encode())
    folders = [ROOT / "packages" / package]
    if package in COMPILED:
        folders.append(ROOT / "packages" / "formats" / "src" / "headrace" / "formats" / "include")
    for folder in folders:
        for path in files_below(folder):
            state.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return state.hexdigest()


def files_below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            if path.name not in (*MADE_FOLDERS, "tests") and path.suffix != ".egg-info":
                yield from files_below(path)
        elif not path.name.endswith(MADE_BY_BUILDS):
            yield path


def builder() -> Path:
    """Returns: the Python of an environment with the build requirements of all packages."""
    home = HOME / f"builder-{TAG}"
    needs = sorted(set(build_requirements()))
    stamp = home / "requirements"
    python = home / "bin" / "python"
    if not stamp.exists() or stamp.read_text().splitlines() != needs:
        run([sys.executable, "-m", "venv", "--clear", str(home)])
        run([str(python), "-m", "pip", "install", "-q", *needs])
        stamp.write_text("\n".join(needs))
    return python


def build_requirements() -> Iterator[str]:
    try:
        import tomllib
    except ImportError:  # Python 3.10
        from pip._vendor import tomli as tomllib

    for path in sorted((ROOT / "packages").glob("*/pyproject.toml")):
        yield from tomllib.loads(path.read_text())["build-system"]["requires"]


def run(command: list[str], environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"wheelhouse: failed ({done.returncode}): {' '.join(command)}")


if __name__ == "__main__":
    main()
