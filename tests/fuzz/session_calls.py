"""Random session calls on threads (kind `calls`): extend, run, close, reset, partial runs, forks.

Each thread performs its list of calls, which may raise an OpError, or the RuntimeError of a closed
session. Afterwards every thread must have returned, no value may be torn, and a new session must
work.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from typing import Any

import numpy as np
import pipeline_graphs
import random_functions
import resource_graphs
from fuzz_case import Case, Run
from program_graphs import Program

from headrace.formats.errors import OpError
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.run_pb2 import ConfigProto, RunOptions
from headrace.formats.services import SESSIONS, find_service

SIZE = 1000
LONG_S = 60.0  # no call takes that long, however busy the machine
CALLS = (
    "run", "run", "run", "run", "write", "write", "read", "short", "long", "block", "feed_queue",
    "extend", "partial", "partial_left", "reset", "explain", "trace", "new_signature", "odd",
    "close", "reopen", "fork", "interrupt", "devices",
)  # fmt: skip


def make_case(dice: random.Random) -> Case:
    """A program beside a fixed graph, and one to six threads with up to twelve calls each."""
    case = _program(dice)
    graph = _fixed()
    graph.node.extend(case.graph.node)
    graph.library.CopyFrom(case.graph.library)
    threads = dice.choice((1, 2, 2, 4, 6))
    calls = [
        [[dice.choice(CALLS), dice.randrange(100)] for _ in range(dice.choice((3, 6, 12)))]
        for _ in range(threads)
    ]
    shared = dice.random() < 0.3
    calls[0].insert(0, ["config", dice.choice((0, 1, 2, 3)), "local://fuzz" if shared else ""])
    return Case(graph, case.runs, calls=calls, random=True)


def _program(dice: random.Random) -> Case:
    """Half of them wait: for iterators, queues, stages, functions that wait."""
    if dice.random() < 0.5:
        makers = (pipeline_graphs, pipeline_graphs, resource_graphs, random_functions)
        return dice.choice(makers).make_case(dice)
    program = Program(dice)
    for _ in range(dice.choice((2, 5, 10))):
        program.statement(2)
    return program.case()


def _fixed() -> GraphDef:
    """The nodes that calls use: a variable, a queue, a slow product, a loop of any length."""
    import headrace.graph as hr

    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float32, [None], name="x")
        v = hr.get_variable("v", [SIZE], initializer=hr.zeros_initializer(), use_resource=True)
        w = hr.Variable(np.zeros([SIZE], np.float32), name="w")
        hr.group(v.initializer, w.initializer, name="init")
        hr.group(v.assign_add(hr.ones([SIZE]), read_value=False), w.assign_add(hr.ones([SIZE])),
                 name="write")  # fmt: skip
        hr.identity(v.read_value(), name="read_v")
        hr.identity(w, name="read_w")
        hr.reduce_sum(x * 2.0, name="double")
        queue = hr.FIFOQueue(2, [hr.float32], shapes=[[]], name="queue")
        queue.enqueue(1.0, name="enqueue")
        hr.identity(queue.dequeue(), name="dequeue")
        square = hr.ones([300, 300])
        for _ in range(3):
            square = hr.matmul(square, square) * 0.003
        hr.reduce_sum(square, name="product")
        times = hr.placeholder(hr.int32, [], name="times")
        loop = hr.while_loop(lambda i: i < times, lambda i: i + 1, [hr.constant(0)])
        hr.identity(loop, name="loop")
        return graph.as_graph_def()


def perform(case: Case) -> list[tuple[str, Any]]:
    """Performs the calls of a case. Returns: ("values", []) or ("raw", what is wrong)."""
    calls = [list(thread) for thread in case.calls]
    config, target = ConfigProto(), ""
    if calls and calls[0] and calls[0][0][0] == "config":
        _, number, target = calls[0].pop(0)
        config.intra_op_parallelism_threads = (0, 1, 2, 4)[number]
        config.experimental.executor_type = "dynamic" if number == 3 else ""
    play = Play(case, config.SerializeToString(), target)
    threads = [threading.Thread(target=play.perform, args=(each,), daemon=True) for each in calls]
    for thread in threads[1:]:
        thread.start()
    play.perform(calls[0])  # signals come to the main thread
    for thread in threads[1:]:
        thread.join()
    play.finish()
    return [("raw", "\n".join(play.wrong))] if play.wrong else [("values", [])]


class Play:
    """One session, which any thread may close and open again."""

    def __init__(self, case: Case, config: bytes, target: str) -> None:
        self._case, self._config, self._target = case, config, target
        self.wrong: list[str] = []
        self._extended = 0
        self._lock = threading.Lock()
        self.session = self._open()

    def _open(self) -> Any:
        session = find_service(SESSIONS, "local")(self._target, self._config)
        session.extend(self._case.sent)
        session.prepare([], [], ["init"])([])
        return session

    def perform(self, calls: list[list[Any]]) -> None:
        """Performs calls one after another, and records unexpected exceptions."""
        for name, number in calls:
            try:
                getattr(self, f"_{name}")(number)
            except OpError:
                pass
            except RuntimeError as error:
                if "closed Session" not in str(error):
                    self._note(name)
            except KeyboardInterrupt:
                pass
            except Exception:
                self._note(name)

    def _note(self, name: str) -> None:
        import traceback

        self.wrong.append(f"{name}: {traceback.format_exc()}")

    def finish(self) -> None:
        """Closes everything; a new session must still work."""
        try:
            self.session.close()
            session = find_service(SESSIONS, "local")("", b"")
            session.extend(self._case.sent)
            if float(session.prepare(["x:0"], ["double:0"], [])([np.ones(3, np.float32)])[0]) != 6:
                self.wrong.append("a fresh session gives a wrong value")
            session.close()
        except (OpError, KeyboardInterrupt):
            pass  # the program beside may be rejected

    def _step(self, feeds: list[str], fetches: list[str], targets: list[str] | None = None) -> Any:
        return self.session.prepare(feeds, fetches, targets or [])

    # ---- calls ----

    def _run(self, number: int) -> None:
        run: Run = self._case.runs[number % len(self._case.runs)]
        step = self._step(list(run.feeds), run.fetches, run.targets)
        step.run(list(run.feeds.values()), _timeout(200))

    def _write(self, number: int) -> None:
        self._step([], [], ["write"])([])

    def _read(self, number: int) -> None:
        for value in self._step([], ["read_v:0", "read_w:0"])([])[:1]:
            if value.shape == (SIZE,) and value.min() != value.max():
                self.wrong.append(f"torn: {value.min()} {value.max()}")

    def _short(self, number: int) -> None:
        got = self._step(["x:0"], ["double:0"])([np.full(number + 1, 0.5, np.float32)])[0]
        if got != number + 1:
            self.wrong.append(f"2 * 0.5 * {number + 1} is {got}")

    def _long(self, number: int) -> None:
        """Ends by its timeout, or because another thread closes."""
        started = time.monotonic()
        many = np.array(2**31 - 1, np.int32)
        try:
            self._step(["times:0"], ["loop:0"]).run([many], _timeout(5 + number))
        finally:
            if time.monotonic() - started > LONG_S:
                self.wrong.append(f"a run of {5 + number} ms took {time.monotonic() - started} s")

    def _block(self, number: int) -> None:
        self._step([], ["dequeue:0"]).run([], _timeout(5 + number))

    def _feed_queue(self, number: int) -> None:
        self._step([], [], ["enqueue"]).run([], _timeout(5 + number))

    def _extend(self, number: int) -> None:
        with self._lock:
            self._extended += 1
            name = f"more{self._extended}"
        graph = GraphDef()
        node = graph.node.add(name=name, op="Neg", input=["double" if number % 5 else "absent"])
        node.attr["T"].type = 1
        self.session.extend(graph.SerializeToString())
        self._step(["x:0"], [f"{name}:0"])([np.ones(2, np.float32)])

    def _partial(self, number: int) -> None:
        step = self.session.partial_run_setup(["x:0"], ["double:0", "read_v:0"], [])
        step.run({"x:0": np.ones(number + 1, np.float32)}, ["double:0"])
        if number % 2:
            step.run({}, ["read_v:0"])

    def _partial_left(self, number: int) -> None:
        self.session.partial_run_setup(["x:0"], ["double:0"], [])

    def _reset(self, number: int) -> None:
        self.session.reset([] if number % 2 else ["absent"])
        self._step([], [], ["init"])([])

    def _explain(self, number: int) -> None:
        self._step([], ["read_v:0", "product:0"]).explain()

    def _trace(self, number: int) -> None:
        options = RunOptions(timeout_in_ms=500, trace_level=RunOptions.FULL_TRACE)
        self._step([], ["product:0"]).run([], options.SerializeToString())

    def _new_signature(self, number: int) -> None:
        self._step(["double:0"], ["double:0"], ["write"] if number % 2 else [])(
            [np.float32(number)]
        )

    def _odd(self, number: int) -> None:
        """Invalid names and values."""
        kind = number % 6
        if kind == 0:
            self._step(["x:0"], ["double:0"])([np.zeros([2, 2], np.float64)])
        elif kind == 1:
            self._step(["x:0", "x:0"], ["double:0"])([np.zeros(2, np.float32)] * 2)
        elif kind == 2:
            self._step([], ["double:99"])([])
        elif kind == 3:
            self._step(["x:0"], ["double:0"])([np.zeros((0,), np.float32)])
        elif kind == 4:
            self._step(["v:0"], ["read_v:0"])([np.zeros(3, np.float32)])
        else:
            self.session.extend(b"\x0a\x05no")

    def _close(self, number: int) -> None:
        if number % 3 == 0:
            self.session.close()

    def _reopen(self, number: int) -> None:
        if number % 3 == 0:
            old, self.session = self.session, self._open()
            if number % 2:
                old.close()

    def _interrupt(self, number: int) -> None:
        """Ctrl-C in the main thread while it runs."""
        if threading.current_thread() is not threading.main_thread():
            return
        timer = threading.Timer(number / 2000, signal.raise_signal, [signal.SIGINT])
        timer.start()
        try:
            self._long(200)
            timer.join()
            time.sleep(0.01)
        finally:
            timer.cancel()
            timer.join()

    def _devices(self, number: int) -> None:
        self.session.list_devices()

    def _fork(self, number: int) -> None:
        """A forked child runs a session; it must succeed soon."""
        if number % 4 or threading.current_thread() is not threading.main_thread():
            return
        if os.environ.get("HEADRACE_FUZZ_FORKS") == "0":
            return
        self._step([], ["product:0"])([])
        child = os.fork()
        if child == 0:
            _in_child(self._case.sent)
        until = time.monotonic() + LONG_S
        while time.monotonic() < until:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                if status not in (0, 3 << 8):
                    self.wrong.append(f"a forked child ended with {status}")
                return
            time.sleep(0.005)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        self.wrong.append("a forked child hangs")


def _in_child(sent: bytes) -> None:
    status = 1
    try:
        session = find_service(SESSIONS, "local")("", b"")
        session.extend(sent)
        product = session.prepare([], ["product:0"], [])([])[0]
        status = 0 if np.isfinite(product) else 2
        session.close()
    except OpError:
        status = 3
    finally:
        os._exit(status)


def _timeout(milliseconds: int) -> bytes:
    return RunOptions(timeout_in_ms=milliseconds).SerializeToString()
