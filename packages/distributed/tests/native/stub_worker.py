"""A worker (headrace/worker.h) whose runs the test plays. It takes only values without elements."""

from __future__ import annotations

import ctypes
import queue
from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from dataclasses import dataclass
from typing import Any

from linked_endpoints import LATE_S


class EdgeKey(ctypes.Structure):
    _fields_ = [("edge", c_int64), ("frame", ctypes.c_uint64), ("iteration", c_int64)]


RECEIVED = CFUNCTYPE(None, c_void_p, c_int32, c_char_p, c_void_p, c_int32)
RUN_DONE = CFUNCTYPE(None, c_void_p, c_int32, c_char_p, c_char_p, c_char_p, c_size_t)


class Rendezvous(ctypes.Structure):
    _fields_ = [
        ("size", c_uint32),
        ("send", CFUNCTYPE(c_int32, c_void_p, POINTER(EdgeKey), c_void_p, c_int32)),
        ("recv", CFUNCTYPE(None, c_void_p, POINTER(EdgeKey), RECEIVED, c_void_p)),
        ("abort", CFUNCTYPE(None, c_void_p, c_int32, c_char_p)),
    ]


RUN = CFUNCTYPE(None, c_void_p, c_int64, c_int64, c_uint32, c_void_p, RUN_DONE, c_void_p)
CANCEL = CFUNCTYPE(None, c_void_p, c_int64, c_int32, c_char_p)
DELIVERIES = CFUNCTYPE(None)


class _Abi(ctypes.Structure):
    _fields_ = [
        ("size", c_uint32),
        ("abi", c_uint32),
        ("run", RUN),
        ("cancel", CANCEL),
        ("begin_deliveries", DELIVERIES),
        ("end_deliveries", DELIVERIES),
        *((name, c_void_p) for name in ("allocate", "retain", "release", "set_string", "wrap")),
    ]


@dataclass
class Run:
    """A run in progress; it may wait for values and send dead ones."""

    partition: int
    number: int
    flags: int
    rendezvous: int
    _done: Any
    _argument: Any

    def __post_init__(self) -> None:
        self.received: queue.Queue[tuple[int, int, str, int]] = queue.Queue()
        self._callback = RECEIVED(self._on_value)
        self._abi = Rendezvous.from_address(self.rendezvous)

    def _on_value(self, edge: int, code: int, message: bytes, value: Any, dead: int) -> None:
        assert not value
        self.received.put((edge or 0, code, message.decode(), dead))

    def recv(self, edge: int, iteration: int = 0) -> None:
        """Waits for a value: `received` gets (edge, code, message, dead)."""
        key = EdgeKey(edge, 0, iteration)
        self._abi.recv(self.rendezvous, key, self._callback, edge or None)

    def send_dead(self, edge: int) -> int:
        """Sends a dead value. Returns: a code."""
        return int(self._abi.send(self.rendezvous, EdgeKey(edge, 0, 0), None, 1))

    def abort(self) -> None:
        self._abi.abort(self.rendezvous, 1, b"another part of the step failed")

    def done(self, code: int = 0, node: str = "", message: str = "", trace: bytes = b"") -> None:
        """Ends it."""
        self._done(self._argument, code, node.encode(), message.encode(), trace, len(trace))


class StubWorker:
    """services.Worker, as far as an endpoint needs it."""

    def __init__(self, abi: int = 1) -> None:
        self.runs: queue.Queue[Run] = queue.Queue()
        self.cancels: queue.Queue[tuple[int, int, str]] = queue.Queue()
        self.on_deliveries: Callable[[], None] = lambda: None
        # Kept for ever: runs may end after the worker.
        self._abi = _Abi(
            ctypes.sizeof(_Abi),
            abi,
            RUN(self._run),
            CANCEL(self._cancel),
            DELIVERIES(lambda: self.on_deliveries()),
            DELIVERIES(lambda: None),
        )
        new_capsule = ctypes.pythonapi.PyCapsule_New
        new_capsule.restype = ctypes.py_object
        new_capsule.argtypes = [c_void_p, c_char_p, c_void_p]
        self._name = b"headrace.worker.v1"
        self.capsule = new_capsule(ctypes.addressof(self._abi), self._name, None)

    def _run(
        self,
        _: Any,
        partition: int,
        run: int,
        flags: int,
        rendezvous: int,
        done: Any,
        argument: Any,
    ) -> None:
        # ctypes frees the function object with the call; the pointer stays.
        kept = ctypes.cast(ctypes.cast(done, c_void_p), RUN_DONE)
        self.runs.put(Run(partition, run, flags, rendezvous, kept, argument))

    def _cancel(self, _: Any, run: int, code: int, why: bytes) -> None:
        self.cancels.put((run, code, why.decode()))

    def next_run(self) -> Run:
        return self.runs.get(timeout=LATE_S)

    def next_cancel(self) -> tuple[int, int, str]:
        return self.cancels.get(timeout=LATE_S)
