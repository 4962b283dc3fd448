"""Set Headrace up from this checkout and train a network on real handwritten digits.

    python3 tools/quickstart.py                # needs Python, a C++ compiler and PyPI
    python3 tools/quickstart.py --mnist DIR    # on MNIST's IDX files; arguments go to the example

All it makes lies in .quickstart/, which git ignores; a second start builds nothing again unless
the packages changed. The environment of the compilers is removed when the packages are installed.
Ctrl-C stops it anywhere; started again, it goes on from there.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".quickstart"
PACKAGES = ("formats", "graph", "runtime", "kernels", "board")
DATA_WHEEL = "scikit-learn"
EXAMPLE = ROOT / "examples" / "digits.py"


def main() -> int:
    if sys.version_info < (3, 10):  # noqa: UP036 (a bare Python may be older)
        print(f"quickstart: Python is {sys.version.split()[0]}, Headrace needs 3.10 or later")
        return 1
    started = time.monotonic()
    try:
        python = environment()
        arguments = sys.argv[1:]
        if "--mnist" not in arguments and "--data" not in arguments:
            arguments = ["--data", str(digits_wheel(python)), *arguments]
    except KeyboardInterrupt:
        report("interrupted; start it again and it goes on from there")
        return 130
    if "--out" not in arguments:
        arguments = ["--out", str(HOME / "digits"), *arguments]
    report(f"set up in {time.monotonic() - started:.0f} s; training on real digits")
    command = [str(python), str(EXAMPLE), *arguments]
    if code := train(command):
        return code
    report(f"done in {time.monotonic() - started:.0f} s; checkpoints, event log and model are in")
    out = arguments[arguments.index("--out") + 1]
    print(f"  {out}")
    report("to see the run in the browser:")
    print("  " + shlex.join([str(python.parent / "headrace-board"), "--logdir", out]))
    if "--folds" not in arguments:
        report("all five folds are next:")
        print("  " + shlex.join([*command, "--folds", "5"]))
    return 0


def train(command: list[str]) -> int:
    """Runs the example, which handles Ctrl-C itself. Returns: its exit status."""
    return wait_through_interrupts(subprocess.Popen(command, cwd=ROOT))


def wait_through_interrupts(child: subprocess.Popen[bytes]) -> int:
    """Waits for a child that gets the same Ctrl-C and ends. Returns: its exit status."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return child.wait()
    finally:
        signal.signal(signal.SIGINT, before)


def environment() -> Path:
    """Returns: the Python of .quickstart/env, with the packages of this checkout."""
    home = HOME / "env"
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    HOME.mkdir(exist_ok=True)
    ready = home / "ready"
    if not ready.exists():
        report(f"making an environment in {home.relative_to(ROOT)}")
        try:
            run([sys.executable, "-m", "venv", "--clear", str(home)])
        except SystemExit:
            raise SystemExit(
                "quickstart: this Python cannot make virtual environments:"
                " install its venv module (on Debian: apt install python3-venv)"
            ) from None
        ready.touch()
    requirements = str(ROOT / "examples" / "requirements.txt")
    run([str(python), "-m", "pip", "install", "-q", "-r", requirements])
    report("installing the packages (the first time compiles for a few minutes)")
    wheelhouse = [str(python), str(ROOT / "tools" / "wheelhouse.py"), "--remove-builder"]
    run([*wheelhouse, *PACKAGES], {**os.environ, "HEADRACE_CHECK_DIR": str(HOME)})
    return python


def digits_wheel(python: Path) -> Path:
    """Returns: scikit-learn's wheel, fetched once; the digits are a file in it."""
    folder = HOME / "data"
    if not (found := sorted(folder.glob("*.whl"))):
        report(f"fetching {DATA_WHEEL}'s wheel for the digits inside (nothing of it is installed)")
        pip = [str(python), "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]
        run([*pip, "-d", str(folder), DATA_WHEEL])
        found = sorted(folder.glob("*.whl"))
    return found[-1]


def run(command: list[str], variables: dict[str, str] | None = None) -> None:
    """Runs a command in a session of its own, so that Ctrl-C reaches this process alone.

    Raises: KeyboardInterrupt after the command was stopped too; SystemExit if it failed.
    """
    child = subprocess.Popen(command, env=variables, start_new_session=True)
    try:
        code = child.wait()
    except KeyboardInterrupt:
        child.terminate()
        child.wait()
        raise
    if code != 0:
        raise SystemExit(f"quickstart: failed ({code}): {shlex.join(command)}")


def report(text: str) -> None:
    print(f"quickstart: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
