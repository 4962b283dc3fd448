"""Repeat a thing many times, and print what the process held at the start, half-way and at the end.

    python3 tools/soak.py                              # all soaks, an hour of threads
    python3 tools/soak.py fed-indices sessions         # some of them
    python3 tools/soak.py threads --minutes 2
    python3 tools/soak.py --table docs/reliability.md  # write the table into its section "Soaks"

Each soak runs in a process of its own (tools/soak_programs.py). "Start" is after a tenth of the
steps, when caches have filled.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from tqdm import tqdm

HERE = Path(__file__).resolve().parent
COUNTS = {
    "batch-sizes": 10_000,
    "fed-indices": 10_000,
    "signatures": 2_000,
    "sessions": 1_000,
    "input-sessions": 10_000,
    "partial-runs": 100_000,
}
HEADING = "## Soaks"
BEGIN, END = "<!-- soaks: begin -->", "<!-- soaks: end -->"


def run(name: str, count: int, python: str) -> dict[str, Any]:
    """Runs one soak in a child. Returns: its samples and notes, or what it died of."""
    child = subprocess.Popen(
        [python, str(HERE / "soak_programs.py"), name, "--count", str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None and child.stderr is not None
    errors: list[str] = []
    reader = threading.Thread(target=lambda: errors.extend(child.stderr.read().splitlines()))
    reader.start()
    found: dict[str, Any] = {"notes": []}
    with tqdm(total=count, desc=name, file=sys.stderr) as bar:
        for line in child.stdout:
            message = json.loads(line)
            if "step" in message:
                bar.update(message["step"] - bar.n)
            elif "note" in message:
                found["notes"].append(message["note"])
            else:
                found.update(message)
                bar.update(count - bar.n)
    reader.join()
    if child.wait():
        found["died"] = f"exit {child.returncode}: {errors[-1] if errors else 'no words'}"
    return found


def row(name: str, count: int, found: dict[str, Any]) -> str:
    """A line of the table."""
    what = f"{count / 60:g} min of threads" if name == "threads" else f"{count:,} {name}"
    what = what.replace("-", " ") + "".join(f" ({note})" for note in found["notes"])
    if "samples" not in found:
        return f"| {what} | {found.get('died', 'no samples')} | | | |"
    samples = found["samples"]
    cells = [
        " / ".join(f"{s[field]:g}" for s in samples) for field in ("memory_mib", "threads", "files")
    ]
    cells.append(f"{samples[-1]['seconds']:g}")
    ended = f" ({found['died']})" if "died" in found else ""
    return f"| {what}{ended} | " + " | ".join(cells) + " |"


def table(rows: list[str]) -> str:
    head = [
        "| soak | memory, MiB: start / middle / end | threads | open files | seconds |",
        "|---|---|---|---|---|",
    ]
    return "\n".join(head + rows)


def put_into(document: Path, text: str) -> None:
    """Replaces the table of the document's section, or adds the section."""
    block = f"{BEGIN}\n{text}\n{END}"
    old = document.read_text(encoding="utf-8") if document.exists() else ""
    if BEGIN in old:
        before, _, rest = old.partition(BEGIN)
        new = before + block + rest.partition(END)[2]
    else:
        new = f"{old.rstrip()}\n\n{HEADING}\n\n{block}\n".lstrip()
    document.write_text(new, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("soaks", nargs="*", metavar="soak", help=f"of {[*COUNTS, 'threads']}")
    parser.add_argument("--minutes", type=float, default=60, help="of the soak `threads`")
    parser.add_argument("--scale", type=float, default=1.0, help="of all counts but minutes")
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the children")
    parser.add_argument("--table", type=Path, help="document to write the table into")
    options = parser.parse_args()
    unknown = set(options.soaks) - {*COUNTS, "threads"}
    if unknown:
        parser.error(f"no soak is named {sorted(unknown)}; there are {[*COUNTS, 'threads']}")
    rows = []
    for name in options.soaks or [*COUNTS, "threads"]:
        scaled = int(COUNTS.get(name, 0) * options.scale)
        count = int(options.minutes * 60) if name == "threads" else scaled
        rows.append(row(name, count, run(name, count, options.python)))
    print(table(rows))
    if options.table:
        put_into(options.table, table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
