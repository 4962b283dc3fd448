"""Build the wheels of this checkout once, and install some of them where this script runs.

    python tools/wheelhouse.py formats runtime     # into the environment of this Python
    python tools/wheelhouse.py --build-only board  # build, install nothing

A wheel is built again when anything it is made from changed: its name in the wheelhouse is bound to
a hash of those files, so a test environment never runs stale code. Compilers run only for objects
that changed (packages/*/_build/native_build.py). A terminal shows a progress bar, if tqdm is there.
Ctrl-C stops the compilers as well; the next start goes on with the objects that are done.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TAG = f"py{sys.version_info.major}{sys.version_info.minor}"
HOME = Path(os.environ.get("HEADRACE_CHECK_DIR", ROOT / ".check"))
# Sanitized wheels and objects (packages/*/_build/native_build.py) lie beside the others.
BUILD = "-".join(filter(None, [TAG, os.environ.get("HEADRACE_SANITIZE")]))
WHEELS = HOME / f"wheels-{BUILD}"
COMPILED = ("runtime", "kernels", "distributed", "board")
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", nargs="+", help="which packages to install here")
    parser.add_argument("--lowest", action="store_true", help="with the lowest declared versions")
    parser.add_argument("--build-only", action="store_true", help="install nothing")
    parser.add_argument(
        "--remove-builder", action="store_true", help="at the end, free the disk that it takes"
    )
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: _interrupt())  # tox and CI stop us with this one
    started = time.monotonic()
    HOME.mkdir(exist_ok=True)
    try:
        with open(HOME / f"wheels-{TAG}.lock", "w") as lock:  # two environments build in turn
            fcntl.flock(lock, fcntl.LOCK_EX)
            wheels = build(list(dict.fromkeys(["formats", *options.packages])))
        seconds = time.monotonic() - started
        print(f"wheelhouse: {len(wheels)} wheels ready in {seconds:.1f} s", flush=True)
        if not options.build_only:
            install([wheels[p] for p in options.packages], wheels["formats"], options.lowest)
        if options.remove_builder:
            remove_builder()
    except KeyboardInterrupt:
        stop_children()
        print("wheelhouse: interrupted", file=sys.stderr)
        return 130
    return 0


def _interrupt() -> None:
    raise KeyboardInterrupt


def build(packages: list[str]) -> dict[str, Path]:
    """Builds what changed, side by side: while one links or packs, the other's compilers have all
    cores.

    Returns: the wheel of each package.
    """
    wheels = {package: current_wheel(package) for package in packages}
    stale = [package for package, wheel in wheels.items() if wheel is None]
    if stale:
        builder()
    for package in stale:
        print(f"wheelhouse: build {package}", flush=True)
        progress_file(package).unlink(missing_ok=True)
    with ThreadPoolExecutor(max(1, len(stale))) as pool:
        jobs = {package: pool.submit(build_wheel, package) for package in stale}
        try:
            show_progress(jobs)
        except KeyboardInterrupt:
            stop_children()
            raise
        created = {package: job.result() for package, job in jobs.items()}
    return {package: wheel or created[package] for package, wheel in wheels.items()}


def show_progress(jobs: dict[str, Future[Path]]) -> None:
    """Draws a bar of all steps of the compilers until the jobs are done; waits only, elsewhere."""
    try:
        from tqdm import tqdm
    except ImportError:
        wait_for(jobs.values())
        return
    # disable=None: no bar where the output is a file
    with tqdm(total=0, unit="step", desc="compile", disable=None, leave=False) as bar:
        while wait_for(jobs.values(), timeout=0.5).not_done:
            steps = done = 0
            for package in jobs:
                path = progress_file(package)
                for line in path.read_text().splitlines() if path.exists() else []:
                    steps += int(line.split()[1]) if line.startswith("steps ") else 0
                    done += line == "done"
            bar.total = steps
            bar.update(done - bar.n)


def progress_file(package: str) -> Path:
    """Returns: where the build of a package reports its steps (native_build.Progress)."""
    return WHEELS / f"{package}.progress"


def install(wheels: list[Path], formats: Path, lowest: bool) -> None:
    """Installs the wheels and what they declare; ours again: same version, new code."""
    pip = [sys.executable, "-m", "pip", "install", "-q", "--find-links", str(WHEELS)]
    fresh = [str(wheel) for wheel in dict.fromkeys([formats, *wheels])]
    run([*pip, "--force-reinstall", "--no-deps", *fresh])
    bounds = lowest_bounds([formats, *wheels]) if lowest else []
    run([*pip, *bounds, *fresh])


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


def current_wheel(package: str) -> Path | None:
    """Returns: the wheel that was built of the present files of packages/<package>, if any."""
    stamp = WHEELS / f"{package}.made_from"
    if stamp.exists():
        made_from, name = stamp.read_text().split()
        if made_from == hash_of(package) and (WHEELS / name).exists():
            return WHEELS / name
    return None


def build_wheel(package: str) -> Path:
    """Builds and stamps the wheel of packages/<package>. Returns: its path."""
    state = hash_of(package)
    for old in WHEELS.glob(f"headrace_{package}-*.whl"):
        old.unlink()
    WHEELS.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "HEADRACE_RELEASE": "1",  # metadata with ranges, which pip finds in the wheelhouse
        "HEADRACE_REQUIRE_NATIVE": "1",  # or the board's checks would test its fallbacks
        "HEADRACE_BUILD_DIR": str(HOME / f"build-{BUILD}" / package),
        "HEADRACE_PROGRESS": str(progress_file(package)),
    }
    command = [str(builder()), "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps"]
    run([*command, "-w", str(WHEELS), str(ROOT / "packages" / package)], environment)
    wheel = next(WHEELS.glob(f"headrace_{package}-*.whl"))
    (WHEELS / f"{package}.made_from").write_text(f"{state} {wheel.name}")
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


def remove_builder() -> None:
    """Removes the compilers' environment and objects; the wheels stay."""
    for created in (HOME / f"builder-{TAG}", HOME / f"build-{BUILD}"):
        shutil.rmtree(created, ignore_errors=True)


_children: set[subprocess.Popen[bytes]] = set()
_children_lock = threading.Lock()
_stopped = threading.Event()


def run(command: list[str], environment: dict[str, str] | None = None) -> None:
    """Runs a command to its end; its output is shown only if it fails.

    It gets a session of its own, so that stop_children reaches the compilers that pip has started,
    and Ctrl-C reaches only this process: no tracebacks of others.
    """
    with _children_lock:
        if _stopped.is_set():
            raise SystemExit("wheelhouse: interrupted")
        child = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        _children.add(child)
    output, _ = child.communicate()
    with _children_lock:
        _children.discard(child)
    if child.returncode != 0:
        if not _stopped.is_set():
            sys.stderr.write(output.decode(errors="replace"))
        shown = " ".join(command)
        raise SystemExit(f"wheelhouse: failed ({child.returncode}): {shown}")


def stop_children() -> None:
    """Kills what run() has under way, with all that it has started."""
    with _children_lock:
        _stopped.set()
        for child in _children:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
