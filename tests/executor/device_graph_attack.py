"""Runs random graphs on the CPU and two fake devices, disturbs them, and compares bit for bit.

    python device_graph_attack.py --first 0 --graphs 50 [--seconds 20]

The judge is the same graph on the CPU alone, in a fresh session. After each disturbance (failed
allocations, launches and copies, timeouts, ends of sessions, forks), the same step must give the
right values again, and the devices must have all memory back.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from fake_device import FakeDevice, fake_devices  # noqa: E402
from random_device_graphs import RandomGraph  # noqa: E402

import headrace.graph as hr  # noqa: E402
from headrace.formats import errors  # noqa: E402

TASK = "/job:localhost/replica:0/task:0"
PLACES = [f"{TASK}/device:{name}" for name in ("CPU:0", "GPU:0", "GPU:1")]
ON_CPU = hr.ConfigProto(device_count={"GPU": 0}, allow_soft_placement=True)
HANGS_S = 120.0
# What an injected fault may end in. A launch that fails is internal, memory is exhausted.
OF_FAULTS = (errors.InternalError, errors.ResourceExhaustedError)
ENDED = (errors.CancelledError, errors.DeadlineExceededError, errors.AbortedError, RuntimeError)

Outcome = list[Any] | type[BaseException]


class Mismatch(AssertionError):
    """Another result than on the CPU."""


def same(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    a, b = np.asarray(one), np.asarray(other)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype == object:
        return a.tolist() == b.tolist()
    return a.tobytes() == b.tobytes() or bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))


def outcome(run: Callable[[], list[Any]]) -> Outcome:
    """The values, or the type of the error."""
    try:
        return run()
    except errors.OpError as error:
        return type(error)


def check(got: Outcome, expected: Outcome, names: list[str], when: str) -> None:
    if isinstance(got, type) or isinstance(expected, type):
        if got is not expected:
            raise Mismatch(f"{when}: {str(got)[:300]} instead of {str(expected)[:300]}")
        return
    for name, one, other in zip(names, got, expected, strict=True):
        if not same(one, other):
            raise Mismatch(f"{when}: {name}: {one!r} instead of {other!r}")


class Attack:
    """One graph on one placement, with its steps and what they give on the CPU."""

    def __init__(self, seed: int, devices: list[FakeDevice]) -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        self.devices = devices
        self.made = RandomGraph(seed)
        self.steps = [self.made.step() for _ in range(3)]
        self.placed = self.made.placed(seed, PLACES)
        self.config = hr.ConfigProto(allow_soft_placement=True)
        if self.rng.random() < 0.3:
            self.config.experimental.executor_type = "dynamic"
        if self.rng.random() < 0.3:
            self.config.intra_op_parallelism_threads = self.rng.choice([1, 2])
        self.alone = self._expected(fresh=True)
        self.in_turn = self._expected(fresh=False)

    def _expected(self, *, fresh: bool) -> list[tuple[Outcome, list[Any]]]:
        """What each step gives on the CPU, and the variables after it."""
        found = []
        with hr.Session(graph=self.made.graph, config=ON_CPU) as session:
            session.run(self.made.init)
            for fetches, feeds in self.steps:
                if fresh:
                    session.run(self.made.init)
                got = outcome(lambda: session.run(fetches, feeds))  # noqa: B023
                found.append((got, session.run(self.made.reads)))
        return found

    def session(self, target: str = "") -> hr.Session:
        return hr.Session(target, graph=self.placed, config=self.config)

    def calm(self) -> None:
        for device in self.devices:
            device.fail_allocation_after(-1)
            device.fail_launch_after(-1)
            device.fail_copy_after(-1)
            device.wait_for_flush(False)
            device.set_latency_us(self.rng.choice([0, 10, 60]), self.rng.randrange(1, 1 << 30))

    # ---- what is done ------------------------------------------------------------------------

    def run(self) -> None:
        self.calm()
        self.undisturbed()
        for disturb in self.rng.sample(
            [self.faults, self.threads, self.ends, self.shared, self.partial, self.waits], 3
        ):
            self.calm()
            disturb()
        self.calm()
        if self.rng.random() < 0.08 and os.environ.get("HEADRACE_FUZZ_FORKS") != "0":
            self.fork()  # not under AddressSanitizer (tests/sanitizers/run.py)

    def one(self, session: hr.Session, number: int, expected: Any, when: str) -> None:
        fetches, feeds = self.steps[number]
        options = None
        metadata = None
        if self.rng.random() < 0.2:
            options = hr.RunOptions(trace_level=hr.RunOptions.FULL_TRACE)
            metadata = hr.RunMetadata()
        run = lambda: session.run(fetches, feeds, options=options, run_metadata=metadata)  # noqa: E731
        check(outcome(run), expected[0], fetches, f"{when}, step {number}")
        if not isinstance(expected[0], type):
            reads = session.run(self.made.reads)
            check(reads, expected[1], self.made.reads, f"{when}, variables after step {number}")

    def again(self, session: hr.Session, when: str) -> None:
        """Each step from the beginning."""
        for number in range(len(self.steps)):
            session.run(self.made.init)
            self.one(session, number, self.alone[number], when)

    def undisturbed(self) -> None:
        with self.session() as session:
            session.run(self.made.init)
            for number in range(len(self.steps)):
                self.one(session, number, self.in_turn[number], "in turn")
                if isinstance(self.in_turn[number][0], type):
                    break  # a step that failed has changed some of the variables
            self.again(session, "again")

    def waits(self) -> None:
        """Devices that do nothing until they are told to."""
        for device in self.devices:
            device.wait_for_flush(True)
        with self.session() as session:
            self.again(session, "waiting for a flush")

    def faults(self) -> None:
        with self.session() as session:
            if self.rng.random() < 0.5:
                self.again(session, "before faults")
            for _ in range(6):
                number = self.rng.randrange(len(self.steps))
                fetches, feeds = self.steps[number]
                session.run(self.made.init)
                device = self.rng.choice(self.devices)
                late, n = self.rng.random() < 0.6, self.rng.randrange(12)
                kind = self.rng.choice(["allocation", "launch", "copy"])
                if kind == "allocation":
                    device.fail_allocation_after(n)
                elif kind == "launch":
                    device.fail_launch_after(n, late)
                else:
                    device.fail_copy_after(n, late)
                expected = self.alone[number]
                what = f"{kind} {n} fails{' late' if late else ''}"
                try:
                    got = session.run(fetches, feeds)
                except OF_FAULTS:
                    got = None
                except errors.OpError as error:
                    got = None
                    if type(error) is not expected[0]:
                        raise Mismatch(f"{what}: {type(error).__name__}: {error}") from error
                finally:
                    device.fail_allocation_after(-1)
                    device.fail_launch_after(-1)
                    device.fail_copy_after(-1)
                if got is not None:
                    check(got, expected[0], fetches, what)
                    check(session.run(self.made.reads), expected[1], self.made.reads, what)
                session.run(self.made.init)
                self.one(session, number, expected, f"after {what}")
            self.again(session, "after faults")

    def threads(self) -> None:
        """Sessions on threads, one plan after the other; several threads if there is no state."""
        failed: list[BaseException] = []
        share = self.session() if self.made.stateless else None

        def work(number: int) -> None:
            try:
                session = share or self.session()
                for _ in range(2):
                    if share:
                        order = list(range(len(self.steps)))
                        for step in order[number:] + order[:number]:
                            self.one(session, step, self.alone[step], "on threads")
                    else:
                        self.again(session, "on threads")
                if not share:
                    session.close()
            except BaseException as error:  # noqa: BLE001 - of whatever kind, the caller raises it
                failed.append(error)

        self._join([threading.Thread(target=work, args=(n,)) for n in range(3)])
        if share:
            share.close()
        if failed:
            raise failed[0]

    def ends(self) -> None:
        """Timeouts and the end of a session in the middle of steps."""
        failed: list[BaseException] = []
        for device in self.devices:
            device.set_latency_us(self.rng.choice([20, 300]), self.rng.randrange(1, 1000))
        session = self.session()
        session.run(self.made.init)

        def work(number: int) -> None:
            rng = random.Random(self.seed + number)
            for _ in range(20):
                fetches, feeds = rng.choice(self.steps)
                options = None
                if rng.random() < 0.7:
                    options = hr.RunOptions(timeout_in_ms=rng.randint(1, 6))
                try:
                    session.run(fetches, feeds, options=options)
                except ENDED as error:
                    if isinstance(error, RuntimeError):
                        return
                except errors.OpError as error:
                    # Concurrent steps may meet variables that others are about to write.
                    if self.made.stateless and not any(
                        expected is type(error) for expected, _ in self.alone
                    ):
                        failed.append(error)
                except BaseException as error:  # noqa: BLE001
                    failed.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(self.rng.random() * 0.05)
        session.close()
        self._join(threads, begun=True)
        if failed:
            raise failed[0]
        with self.session() as other:
            self.again(other, "after the end of a session")

    def shared(self) -> None:
        """Sessions of other placements share variables: these move between memories."""
        if not self.made.reads:
            return
        name = f"local://shared{self.seed}"
        other = self.made.placed(self.seed + 7, PLACES)
        sessions = [
            self.session(name),
            hr.Session(name, graph=other, config=self.config),
            hr.Session(name, graph=self.made.graph, config=ON_CPU),
        ]
        try:
            self.rng.shuffle(sessions)
            sessions[0].run(self.made.init)
            for number in range(len(self.steps)):
                self.one(sessions[number % 3], number, self.in_turn[number], "shared")
                if isinstance(self.in_turn[number][0], type):
                    break
            failed: list[BaseException] = []

            def work(number: int) -> None:
                for fetches, feeds in self.steps:
                    try:
                        sessions[number].run(fetches, feeds)
                    except errors.OpError as error:
                        if isinstance(error, errors.InternalError):
                            failed.append(error)
                    except BaseException as error:  # noqa: BLE001
                        failed.append(error)

            self._join([threading.Thread(target=work, args=(n,)) for n in range(3)])
            if failed:
                raise failed[0]
            for session in sessions:
                self.again(session, "after concurrent steps of sessions that share variables")
        finally:
            hr.Session.reset(name)
            for session in sessions:
                session.close()

    def partial(self) -> None:
        with self.session() as session:
            for number, (fetches, feeds) in enumerate(self.steps):
                expected = self.alone[number][0]
                if isinstance(expected, type):
                    continue
                session.run(self.made.init)
                names = list(feeds)
                self.rng.shuffle(names)
                try:
                    handle = session.partial_run_setup(fetches, names)
                    cut = self.rng.randrange(len(names) + 1)
                    session.partial_run(handle, [], {name: feeds[name] for name in names[:cut]})
                    if self.rng.random() < 0.3:
                        continue  # left in the middle
                    half = len(fetches) // 2
                    got = session.partial_run(
                        handle, fetches[:half], {name: feeds[name] for name in names[cut:]}
                    )
                    got += session.partial_run(handle, fetches[half:], {})
                except errors.InvalidArgumentError as error:
                    if "fed" in str(error):
                        continue
                    raise
                check(got, expected, fetches, f"in parts, step {number}")
            gc.collect()
            self.again(session, "after partial runs")

    def fork(self) -> None:
        """A child has no devices, and the CPU; the parent goes on."""
        session = self.session()
        session.run(self.made.init)
        over = threading.Event()

        def work() -> None:
            while not over.is_set():
                outcome(lambda: session.run(*self.steps[0]))

        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(0.01)
        child = os.fork()
        if not child:
            signal.alarm(60)
            code = 1
            try:
                with hr.Session(graph=self.made.graph, config=ON_CPU) as alone:
                    alone.run(self.made.init)
                    self.one(alone, 0, self.alone[0], "in a child")
                with self.session() as lost:
                    for step in self.steps:
                        outcome(lambda: [lost.run(self.made.init), lost.run(*step)])  # noqa: B023
                code = 0
            except BaseException as error:  # noqa: BLE001
                print("in a child:", repr(error)[:500], file=sys.stderr)
            finally:
                os._exit(code)
        over.set()
        self._join([thread], begun=True)
        _, status = os.waitpid(child, 0)
        if status:
            raise Mismatch(f"the child of a fork ended with {status}")
        self.again(session, "after a fork")
        session.close()

    def _join(self, threads: list[threading.Thread], *, begun: bool = False) -> None:
        for thread in threads if not begun else []:
            thread.start()
        for thread in threads:
            thread.join()


def wait_until_free(devices: list[FakeDevice], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while any(device.memory.live for device in devices):
        if time.monotonic() > end:
            raise Mismatch("memory is not returned:\n" + "\n".join(d.holders for d in devices))
        gc.collect()
        time.sleep(0.002)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--graphs", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=1e9, help="ends early after that")
    parser.add_argument("--keep-going", action="store_true", help="does not end at a mismatch")
    options = parser.parse_args()
    faulthandler.enable()
    end = time.monotonic() + options.seconds
    wrong = done = 0
    with tempfile.TemporaryDirectory() as folder:
        devices = fake_devices(Path(folder))
        for seed in range(options.first, options.first + options.graphs):
            if time.monotonic() > end:
                break
            faulthandler.dump_traceback_later(HANGS_S, exit=True)
            print(f"seed {seed}", file=sys.stderr, flush=True)
            attack: Attack | None = None
            try:
                attack = Attack(seed, devices)
                attack.run()
                attack = None
                wait_until_free(devices)
            except (AssertionError, errors.OpError, RuntimeError) as error:
                wrong += 1
                print(f"seed {seed}: {type(error).__name__}: {str(error)[:1500]}", flush=True)
                if not options.keep_going:
                    raise
            done += 1
        faulthandler.cancel_dump_traceback_later()
    print(f"{done} graphs, {wrong} wrong", flush=True)
    return min(wrong, 1)


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.exit(status)
