"""Threads that end with the process, however long what they run still takes.

A ThreadPoolExecutor's threads are joined at exit, where a handler that waits for a queue would hang
the process.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

_IDLE_S = 10.0  # a thread without work ends after this time


class DaemonThreads(Executor):
    """Runs each call at once, on a thread that is idle or new.

    Args:
      name: of the threads.
      limit: calls beyond this number wait for a thread.
    """

    def __init__(self, name: str, limit: int = 4096) -> None:
        self._name = name
        self._limit = limit
        self._lock = threading.Lock()
        self._calls: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = queue.SimpleQueue()
        self._idle = 0  # threads that wait, less calls that wait
        self._threads = 0
        self._closed = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Runs fn(*args, **kwargs). Raises: RuntimeError after `shutdown`."""
        future: Future[Any] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._calls.put((future, lambda: fn(*args, **kwargs)))
            self._idle -= 1
            if self._idle < 0 and self._threads < self._limit:
                self._idle += 1
                self._threads += 1
                threading.Thread(target=self._serve, name=self._name, daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more calls; it never waits for those in progress."""
        with self._lock:
            self._closed = True

    def _serve(self) -> None:
        while True:
            try:
                future, call = self._calls.get(timeout=_IDLE_S)
            except queue.Empty:
                with self._lock:
                    if self._idle <= 0:  # a call is on its way to this thread
                        continue
                    self._idle -= 1
                    self._threads -= 1
                return
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(call())
                except BaseException as error:  # noqa: BLE001 - whoever waits gets it
                    future.set_exception(error)
            del future, call  # what they hold is not needed while this thread waits
            with self._lock:
                self._idle += 1
