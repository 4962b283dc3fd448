"""Random graphs against the runtime, in child processes with limits.

    python tests/fuzz/fuzz.py --graphs 100000                # all kinds, from seed 0
    python tests/fuzz/fuzz.py --kind ops --seed 4711 --graphs 1 --show    # one case again
    python tests/fuzz/fuzz.py --file findings/crash-Slice-4711.pbtxt      # a written case again
    python tests/fuzz/fuzz.py --kind known --judge tensorflow --peer /path/to/python

Kinds: ops (random inputs for any op), ops:OP (of one op), known and known:OP (accepted inputs,
changed), programs (control flow, variables, queues), calls (session calls on threads), corrupted
(GraphDefs with changed bytes), internal and internal:OP (ops that passes make). Ends with status 1
if there is a finding that counts.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import verdicts
from child_processes import Ended, run_batch
from fuzz_case import to_text
from judgement import Judgement
from kinds import KINDS, make_case
from minimise import minimised
from tqdm import tqdm

BATCH = 400
LEAK_BYTES = 256 << 20  # that a batch may grow by; kernels' caches and arenas are below it
PER_KEY = 3  # files written for one verdict and op
# Findings that end in status 1. The others are for people to look at: TensorFlow's judgement of
# values, and errors whose code says too little.
COUNTED = ("crash", "hang", "leak", "raw exception", "unstable", "TensorFlow rejects")


def main() -> int:
    options = _options()
    if options.file:
        return _again(options)
    report = Report(Path(options.out), options)
    kinds = options.kind or list(KINDS)
    work = _batches(kinds, options.seed, options.graphs)
    bar = tqdm(total=options.graphs, unit="graph", disable=options.quiet)
    turn = threading.Lock()

    def serve() -> None:
        from fuzz_child import portable

        judge = Judgement(options.peer, portable) if options.judge else None
        while True:
            with turn:
                batch = next(work, None)
            if batch is None:
                break
            _run(batch, judge, report, bar, options)
        if judge is not None:
            report.judge_crashes += judge.crashes
            report.judge_hangs += judge.hangs
            report.set_aside += judge.set_aside
            judge.close()

    with ThreadPoolExecutor(options.jobs) as pool:
        for served in [pool.submit(serve) for _ in range(options.jobs)]:
            served.result()
    bar.close()
    report.print()
    return 1 if any(report.found[v] for v in COUNTED) else 0


def _options() -> Any:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--graphs", type=int, default=100_000)
    parser.add_argument("--kind", action="append", help="may be given several times")
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--limit", type=float, default=10.0, help="seconds that a case may take")
    parser.add_argument(
        "--memory",
        type=float,
        default=4.0,
        help="GiB of a child; 0: no limit, nor a look at growth, for sanitizers keep freed memory",
    )
    parser.add_argument("--out", default="fuzz_findings", help="folder for failing cases")
    parser.add_argument("--file", help="run a written case instead")
    parser.add_argument("--judge", choices=["tensorflow"])
    parser.add_argument("--peer", default=os.environ.get("HEADRACE_PEER_PYTHON", sys.executable))
    parser.add_argument("--show", action="store_true", help="print the outcomes of each case")
    parser.add_argument("--minimise", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser.parse_args()


def _batches(kinds: list[str], first: int, graphs: int) -> Any:
    """Yields (kind, first seed, count), the kinds in turn."""
    left, at = graphs, dict.fromkeys(kinds, first)
    while left:
        for kind in kinds:
            size = min(BATCH, left)
            if size:
                yield kind, at[kind], size
                at[kind] += size
                left -= size


def _run(
    batch: tuple[str, int, int], judge: Judgement | None, report: Report, bar: Any, options: Any
) -> None:
    """One batch, in as many children as it takes."""
    kind, first, count = batch
    end = first + count
    limits = {"memory": int(options.memory * (1 << 30)), "limit_s": options.limit}
    while first < end:
        resident: list[tuple[int, int]] = []  # after each case, with its seed
        try:
            for record in run_batch(kind, first, end - first, **limits):
                if record[0] == "end":
                    if options.memory:
                        _note_leak(kind, resident, report, limits)
                    return
                seed, ops, random, outcomes, took, used, bytes_held = record
                first = seed + 1
                resident.append((bytes_held, seed))
                found = verdicts.of_ours(outcomes, random, used)
                if judge is not None and outcomes and kind != "calls":
                    judged = judge.of(make_case(kind, seed), outcomes, limits)
                    if judged is not None:
                        found += judged
                        report.judged += 1
                report.add(kind, seed, ops, outcomes, found)
                bar.update()
        except Ended as ended:
            first = ended.seed + 1
            case = make_case(kind, ended.seed)
            report.add(kind, ended.seed, case.ops, [], [(ended.how, ended.detail)])
            bar.update()


def _note_leak(
    kind: str, resident: list[tuple[int, int]], report: Report, limits: dict[str, Any]
) -> None:
    """Finds the cases that leak in a batch whose memory has grown beyond the bound.

    The first cases of a batch fill caches; only later growth counts.
    """
    held = [count for count, _ in resident]
    if len(held) < BATCH or held[-1] - held[BATCH // 4] < LEAK_BYTES:
        return
    steps = [(b - a, resident[i + 1][1]) for i, (a, b) in enumerate(pairwise(held))]
    for _, seed in sorted(steps, reverse=True)[:5]:
        case = make_case(kind, seed)
        try:
            again = [s for s in run_batch(f"{kind}@{seed}", 0, 60, **limits) if s[0] != "end"]
        except Ended:
            continue
        late = again[-1][6] - again[20][6]
        if late > 16 << 20:
            detail = f"{late >> 20} MiB in runs 20 to 60 of one case"
            report.add(kind, seed, case.ops, [], [("leak", detail)])


class Report:
    """Counts and files of what was found."""

    def __init__(self, folder: Path, options: Any) -> None:
        self._folder = folder
        self._options = options
        self._lock = threading.Lock()
        self.found: Counter[str] = Counter()
        self.by_op: Counter[tuple[str, str]] = Counter()
        self.became: Counter[str] = Counter()
        self.judged = self.judge_crashes = self.judge_hangs = self.set_aside = 0

    def add(
        self,
        kind: str,
        seed: int,
        ops: list[str],
        outcomes: list[Any],
        found: list[tuple[str, str]],
    ) -> None:
        """Counts a case; writes it to a file if it is among the first of its verdict and op."""
        with self._lock:
            self.became[outcomes[0][0] if outcomes else "ended"] += 1
            if self._options.show:
                tqdm.write(f"{kind} {seed} {ops}: {str(outcomes)[:2000]}")
            for verdict, detail in found:
                op = ops[-1] if ops else "-"
                if verdict == "unfit code":  # its text begins: code: op 'node': …
                    op = detail.split()[1]
                elif kind == "calls":  # the text begins with the call
                    op = detail.partition(":")[0].splitlines()[0].replace(" ", "_")
                self.found[verdict] += 1
                self.by_op[verdict, op] += 1
                number = self.by_op[verdict, op]
                if number <= PER_KEY:
                    self._write(kind, seed, verdict, op, detail, number)

    def _write(self, kind: str, seed: int, verdict: str, op: str, detail: str, number: int) -> None:
        self._folder.mkdir(exist_ok=True)
        short = verdict.replace(" ", "-").replace(",", "")
        path = self._folder / f"{short}.{op}.{kind.replace(':', '-')}.{seed}.pbtxt"
        case = make_case(kind, seed)
        if number == 1 and self._options.minimise and verdict in ("crash", "hang", "raw exception"):
            case = minimised(case, verdict, self._options.memory, self._options.limit)
        again = f"# python tests/fuzz/fuzz.py --kind {kind} --seed {seed} --graphs 1 --show"
        lines = "".join(f"#   {line}\n" for line in detail.splitlines()[-40:])
        path.write_text(f"{again}\n# {verdict}\n{lines}{to_text(case)}")
        record = [line for line in detail.splitlines() if line.strip()]
        first = record[-1 if verdict == "raw exception" else 0][:150]
        tqdm.write(f"{verdict}: {op}: {kind} {seed}: {first}")

    def print(self) -> None:
        """Prints the counts."""
        print(f"outcomes: {dict(self.became)}")
        if self._options.judge:
            print(f"judged: {self.judged}")
            print(f"TensorFlow ended {self.judge_crashes} times, hung {self.judge_hangs} times")
            print(f"differences that are TensorFlow's own (judgement.py): {self.set_aside}")
        for verdict, count in self.found.most_common():
            ops = Counter({op: n for (v, op), n in self.by_op.items() if v == verdict})
            record = ", ".join(f"{op} {n}" for op, n in ops.most_common(40))
            print(f"{verdict}: {count} ({record})")
        if not self.found:
            print("nothing found")


def _again(options: Any) -> int:
    """Runs a case from a file and prints its outcome."""
    limits = {"memory": int(options.memory * (1 << 30)), "limit_s": options.limit}
    try:
        for record in run_batch("file", 0, 1, file=str(Path(options.file).resolve()), **limits):
            if record[0] != "end":
                _, ops, random, outcomes, _, used, _ = record
                print(ops, outcomes)
                found = verdicts.of_ours(outcomes, random, used)
                print("\n".join(f"{v}: {d}" for v, d in found) or "nothing found")
                return 1 if found else 0
    except Ended as ended:
        print(f"{ended.how}: {ended.detail}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
