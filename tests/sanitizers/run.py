"""Runs a command of this Python under the runtime of a sanitizer; any report about Headrace fails
it.

    python tests/sanitizers/run.py address pytest tests/executor
    python tests/sanitizers/run.py thread tests/fuzz/fuzz.py --kind calls --graphs 200 --memory 0

The compiled packages installed here must be built for it (HEADRACE_SANITIZE, as tox -e asan and
tox -e tsan do). Python itself is not instrumented, so the sanitizer's runtime is preloaded.
What is not run under a sanitizer stands in excluded_<sanitizer>.txt, each line with its reason.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIBRARIES = {"address": ("libasan.so", "libstdc++.so.6"), "thread": ("libtsan.so",)}
# Of a leak's stack only this much decides whose it is: everything is called by Python in the end.
OWN_FRAMES = 6

ADDRESS = {
    "abort_on_error": "1",
    # What cannot be had is rejected, as without the sanitizer, instead of ending the process.
    "allocator_may_return_null": "1",
    "max_allocation_size_mb": "8192",
    "detect_leaks": "1",
    "leak_check_at_exit": "0",  # leak_check.py looks before that
    "malloc_context_size": "20",
    # LLVM, in an OpenCL driver, gives its thread a stack for signals, which ASan would unmap.
    "use_sigaltstack": "0",
    # GCC 12's leak check walks what glibc keeps before a thread's storage, and crashes there.
    "intercept_tls_get_addr": "0",
}
THREAD = {
    # GCC 12 takes what lies before a thread's storage for a header of an old glibc.
    "intercept_tls_get_addr": "0",
    # Python, NumPy, protobuf and oneDNN are not instrumented: what they do to memory is not seen,
    # and what they hand to memcpy must not be either, or half of their order would be missing.
    "ignore_noninstrumented_modules": "1",
    "die_after_fork": "0",  # a test forks while threads run
    "history_size": "4",
    "allocator_may_return_null": "1",  # what cannot be had is rejected, as without the sanitizer
    "report_signal_unsafe": "0",  # Python's own handlers
}


def main() -> int:
    sanitizer, *command = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, **_settings(sanitizer, Path(folder))}
        done = subprocess.run(_command(sanitizer, command), env=environment)
        reports = [text for path in sorted(Path(folder).iterdir()) for text in _ours(path)]
    for text in reports:
        print(text, file=sys.stderr)
    print(f"{sanitizer}: exit {done.returncode}, {len(reports)} reports", file=sys.stderr)
    return done.returncode or min(len(reports), 1)


def _settings(sanitizer: str, folder: Path) -> dict[str, str]:
    compiler = os.environ.get("CC", "gcc")
    libraries = [
        subprocess.run(
            [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in LIBRARIES[sanitizer]
    ]
    common = {"log_path": str(folder / "report")}
    settings = {
        "LD_PRELOAD": " ".join(libraries),
        "PYTHONMALLOC": "malloc",  # else an arena of Python's hides what happens inside
        "OPENBLAS_NUM_THREADS": "1",  # NumPy's own threads are third-party code
        "PYTHONPATH": str(HERE),  # leak_check.py
        # GCC 12's AddressSanitizer keeps the locks of its allocator over a fork, which the child
        # then waits for, and its ThreadSanitizer takes threads of a child for those of the parent.
        "HEADRACE_FUZZ_FORKS": "0",
    }
    if sanitizer == "address":
        settings["ASAN_OPTIONS"] = _options({**ADDRESS, **common})
        settings["UBSAN_OPTIONS"] = _options({"print_stacktrace": "1", **common})
    else:
        settings["TSAN_OPTIONS"] = _options(
            {**THREAD, **common, "suppressions": str(HERE / "thread_suppressions.txt")}
        )
    return settings


def _options(options: dict[str, str]) -> str:
    return ":".join(f"{key}={value}" for key, value in options.items())


def _command(sanitizer: str, command: list[str]) -> list[str]:
    # ThreadSanitizer wants its shadow where address randomisation may have put something else.
    fixed = ["setarch", "-R"] if sanitizer == "thread" else []
    if command[0] != "pytest":
        return [*fixed, sys.executable, *command]
    excluded = [f"--deselect={name}" for name in _excluded(sanitizer)]
    plugins = ["-p", "no:cacheprovider", "-p", "leak_check"]
    return [*fixed, sys.executable, "-m", *command, *plugins, *excluded]


def _excluded(sanitizer: str) -> list[str]:
    lines = (HERE / f"excluded_{sanitizer}.txt").read_text().splitlines()
    return [line.split("  #")[0] for line in lines if line and not line.startswith("#")]


def _ours(path: Path) -> list[str]:
    """The reports of a file; leaks only if code of Headrace allocated them."""
    text = path.read_text(errors="replace")
    if "LeakSanitizer" not in text:
        return [text]
    return [block for block in text.split("\n\n") if "leak of" in block and _is_ours(block)]


def _is_ours(leak: str) -> bool:
    frames = re.findall(r"^\s+#\d+ .*", leak, re.MULTILINE)
    return any("headrace" in frame for frame in frames[:OWN_FRAMES])


if __name__ == "__main__":
    sys.exit(main())
