"""Lets the board read 2000 files, each with a flipped byte or without its end.

python benchmarks/corrupted_files.py [FILES] [native|python]
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from fixtures import corrupted_logs  # noqa: E402

from headrace.board.board import Board  # noqa: E402
from headrace.board.store.scalar_series import ScalarSeries  # noqa: E402


def main(files: int, scanner: str) -> None:
    """Prints how many intact records were read, and whether the problems account for the rest."""
    os.environ["HEADRACE_BOARD_SCANNER"] = scanner
    rng = random.Random(26)
    records = corrupted_logs.records_of_900()
    whole = b"".join(records)
    ends = np.cumsum([len(record) for record in records])
    with tempfile.TemporaryDirectory() as folder:
        requested: dict[str, list[int]] = {}
        corrupted: dict[str, int] = {}
        for i in range(files):
            name = f"run{i:04d}"
            data = bytearray(whole)
            if rng.random() < 0.5:
                at = rng.randrange(len(data))
                data[at] ^= 1 << rng.randrange(8)
                hit = int(np.searchsorted(ends, at, "right"))
                requested[name] = [k - 1 for k in range(1, 901) if k != hit]
                corrupted[name] = len(records[hit])
            else:
                del data[rng.randrange(1, len(data)) :]
                whole_records = int(np.searchsorted(ends, len(data), "right"))
                requested[name] = [*range(max(0, whole_records - 1))]
                intact_bytes = int(ends[whole_records - 1]) if whole_records else 0
                corrupted[name] = len(data) - intact_bytes
            corrupted_logs.write_records(Path(folder) / name, bytes(data))
        began = time.perf_counter()
        board = Board(folder, follow=False).load()
        took = time.perf_counter() - began
        lost_bytes: dict[int | None, int] = {}
        for problem in board.index.problems.list():
            lost_bytes[problem.run] = lost_bytes.get(problem.run, 0) + problem.bytes
        intact = found = wrong = miscounted = 0
        for run in board.index.runs():
            want = requested[run.name]
            series = [s for s in run.series.values() if isinstance(s, ScalarSeries)]
            steps = [step for s in series for step in s.columns().step.tolist()]
            intact += len(want)
            found += len(set(steps) & set(want))
            wrong += len(set(steps) - set(want))
            miscounted += lost_bytes.get(run.id, 0) != corrupted[run.name]
    print(
        f"corruption {scanner}: {files} files in {took:.2f} s: {found} of {intact} intact records"
        f" ({found / intact:.4%}), {wrong} wrong ones, {miscounted} files with a wrong byte count"
    )


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 2000,
        sys.argv[2] if len(sys.argv) > 2 else "native",
    )
