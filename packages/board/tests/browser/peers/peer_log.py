"""A log that a peer wrote, and what tensorboard's own reader finds in it."""

from __future__ import annotations

import fcntl
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fixtures.peer_python import python_with, run

HERE = Path(__file__).resolve().parent
# Tests of the board import no other package, so Headrace's own writer is called elsewhere.
_END_TO_END = HERE.parents[4] / "tests" / "end_to_end"

# Of each writer: a module of its environment, and its program with arguments.
WRITERS = {
    "tensorboardX": ("tensorboardX", "write_summary_writer.py", ("tensorboardX",)),
    "torch": ("torch", "write_summary_writer.py", ("torch",)),
    "tf2": ("tensorflow", "write_tensorflow.py", ("tf2",)),
    "tf1": ("tensorflow", "write_tensorflow.py", ("tf1",)),
    "keras": ("keras", "write_keras.py", ()),
    "headrace": ("headrace.runtime", f"{_END_TO_END}/write_every_summary.py", ()),
}
_KINDS = {
    "scalars": "scalar",
    "histograms": "histogram",
    "images": "image",
    "audio": "audio",
    "text": "text",
    "pr_curves": "pr_curve",
    "custom_scalars": "custom_scalars",
    "mesh": "mesh",
    "tensor": "tensor",
    "": "tensor",
}
_VERTICES = ("_VERTEX", "_1")


@dataclass(frozen=True)
class Series:
    """A tag of a run; values: of a scalar one number a row, else as read_values.py writes them."""

    run: str
    tag: str
    kind: str
    steps: list[int]
    values: list[Any]

    @property
    def card(self) -> str:
        """The id of the card that shows it."""
        if self.kind == "scalar":
            return self.tag
        return f"{self.kind}:{self.tag}" + (f"@{self.run}" if self.kind == "mesh" else "")

    def current(self) -> dict[int, Any]:
        """Returns the last value of each step: what a restart has written again, it supersedes."""
        return dict(zip(self.steps, self.values))


@dataclass(frozen=True)
class PeerLog:
    writer: str
    folder: Path
    printed: str
    series: list[Series]

    def of_kind(self, kind: str) -> dict[str, list[Series]]:
        """Returns the series of a kind by tag."""
        found: dict[str, list[Series]] = {}
        for one in self.series:
            if one.kind == kind:
                found.setdefault(one.tag, []).append(one)
        return found


def written(writer: str, root: Path) -> PeerLog:
    """Returns the log of a writer below a folder that the processes of a test session share."""
    folder, printed, read = root / writer, root / f"{writer}.txt", root / f"{writer}.json"
    root.mkdir(exist_ok=True)
    with (root / f"{writer}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not read.exists():
            module, script, arguments = WRITERS[writer]
            folder.mkdir()
            printed.write_text(run(python_with(module), HERE / script, *arguments, str(folder)))
            read.write_text(run(python_with("tensorboard"), HERE / "read_runs.py", str(folder)))
    series = [
        _series(run_name, tag, entry)
        for run_name, tags in json.loads(read.read_text()).items()
        for tag, entry in tags.items()
        if entry["plugin"] in _KINDS
    ]
    kept = [one for one in series if one.kind != "mesh" or one.tag.endswith(_VERTICES)]
    return PeerLog(writer, folder, printed.read_text(), kept)


def _series(run_name: str, tag: str, entry: dict[str, Any]) -> Series:
    kind = _KINDS[entry["plugin"]]
    steps = [row[0] for row in entry["rows"]]
    numbers = [None if row[2] is None else float(row[2]) for row in entry["rows"]]
    return Series(run_name, tag, kind, steps, numbers if kind == "scalar" else entry["values"])
