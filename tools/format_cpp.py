"""Format the C and C++ sources with clang-format (.clang-format has the style).

python tools/format_cpp.py              # rewrite every tracked source
python tools/format_cpp.py --check      # name the sources that differ; exit status 1
python tools/format_cpp.py FILE ...     # only these
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PATTERNS = ("*.c", "*.cpp", "*.h", "*.hpp")


def tracked_sources() -> list[str]:
    """Returns: every tracked C and C++ source, relative to the root of the checkout."""
    listing = subprocess.run(
        ["git", "ls-files", "--", *PATTERNS], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return listing.stdout.splitlines()


def main(arguments: list[str]) -> int:
    check = "--check" in arguments
    files = [argument for argument in arguments if argument != "--check"] or tracked_sources()
    mode = ["--dry-run", "-Werror"] if check else ["-i"]
    tool = Path(sysconfig.get_path("scripts")) / "clang-format"  # that of this Python
    return subprocess.run([str(tool), *mode, *files], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
