"""Runs cases in this process, which a case may end, and reports the outcome of each.

    python fuzz_child.py KIND FIRST COUNT OPTIONS    # OPTIONS: a JSON object

The current case is in a shared file, so that a crash can be attributed to it.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib.util
import json
import mmap
import os
import pickle
import resource
import struct
import sys
import time
from typing import Any

import numpy as np
from fuzz_case import Case, Run, from_text
from kinds import make_case
from written_files import write_files

from headrace.formats.errors import RESOURCE_EXHAUSTED, OpError
from headrace.formats.proto.run_pb2 import RunOptions
from headrace.formats.services import SESSIONS, find_service

TIMEOUT_MS = 150  # a dequeue of an empty queue, a loop without end
_SHORT = RunOptions(timeout_in_ms=TIMEOUT_MS).SerializeToString()
Outcome = tuple[str, Any]


def run_case(case: Case) -> list[Outcome]:
    """Extends a session with the graph of a case and runs it.

    Returns: one outcome per run: ("values", arrays), ("rejected", (code, text)) or
      ("raw", traceback) for an exception that is not an OpError.
    """
    try:
        if case.calls:
            from session_calls import perform

            return perform(case)
        session = find_service(SESSIONS, "local")("", case.config)
        try:
            session.extend(case.sent)
            return [_run(session, run) for run in case.runs]
        finally:
            session.close()
    except OpError as error:
        return [("rejected", (error.code, str(error)))] * max(1, len(case.runs))
    except Exception:  # the finding itself
        return [("raw", _traceback())]


def _run(session: Any, run: Run) -> Outcome:
    try:
        step = session.prepare(list(run.feeds), run.fetches, run.targets)
        values, _ = step.run(list(run.feeds.values()), _SHORT)
        try:
            return ("values", [np.array(v, copy=True) for v in values])
        except MemoryError:  # of this copy, under the child's limit
            return ("rejected", (RESOURCE_EXHAUSTED, "a result too large to be copied"))
    except OpError as error:
        return ("rejected", (error.code, str(error)))
    except Exception:  # the finding itself
        return ("raw", _traceback())


def _traceback() -> str:
    import traceback

    return traceback.format_exc()


def resident() -> int:
    """Bytes of resident memory of this process."""
    with open("/proc/self/statm", "rb") as stream:
        return int(stream.read().split()[1]) * resource.getpagesize()


def main() -> None:
    """Runs the cases; writes a pickle per outcome of interest to the given descriptor."""
    kind, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    options = json.loads(sys.argv[4])
    faulthandler.enable()
    if options["memory"]:
        resource.setrlimit(resource.RLIMIT_AS, (options["memory"],) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sent = os.fdopen(options["out"], "wb")
    shared = mmap.mmap(options["progress"], 16)
    os.chdir(options["folder"])
    write_files()
    plant = os.environ.get("HEADRACE_FUZZ_PLANT", "").split()  # for the test of the fuzz itself
    fixed_case = from_text(open(options["file"]).read()) if options.get("file") else None
    find_service(SESSIONS, "local")("", b"").close()  # imports, once
    for number in range(first, first + count):
        shared[:16] = struct.pack("<qd", number, time.time())  # a case that cannot be made counts
        case = fixed_case or make_case(kind, number)
        started, cpu = time.monotonic(), time.process_time()
        if plant == ["crash", str(number)]:
            os.abort()
        if plant == ["hang", str(number)]:
            time.sleep(3600)
        outcomes = run_case(case)
        took, used = time.monotonic() - started, time.process_time() - cpu
        shared[:16] = struct.pack("<qd", number, time.time())
        if number % 16 == 0:
            gc.collect()  # so that cycles with tracebacks do not look like a leak
        record = (number, case.ops, case.random, _portable(outcomes), took, used, resident())
        pickle.dump(record, sent)
        sent.flush()  # what a crash of the next one would take along
    held = resident()
    if importlib.util.find_spec("leak_check"):  # under tests/sanitizers/run.py
        importlib.import_module("leak_check").check()
    pickle.dump(("end", held), sent)
    sent.close()
    os._exit(0)  # threads of a hanging case must not hold the process


def _portable(outcomes: list[Outcome]) -> list[Outcome]:
    """Arrays as (dtype, shape, bytes), which any NumPy reads; objects as lists."""
    return [
        (how, [portable(v) for v in what]) if how == "values" else (how, what)
        for how, what in outcomes
    ]


def portable(value: np.ndarray) -> tuple[str, tuple[int, ...], Any]:
    """An array in a form for another process."""
    if value.dtype.kind == "O":
        return "object", value.shape, [v if isinstance(v, bytes) else str(v) for v in value.flat]
    if value.dtype.kind in "SU":
        return "object", value.shape, [bytes(v) for v in np.asarray(value, object).flat]
    if value.nbytes > 1 << 22:
        value = value.reshape(-1)[:1024]
    return str(value.dtype), value.shape, value.tobytes()


if __name__ == "__main__":
    main()
