"""Coordinator: stops a group of threads when one of them fails or finishes."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headrace.formats.errors import OutOfRangeError


class Coordinator:
    """Coordinates the termination of threads, and reports their first error.

    Args:
      clean_stop_exception_types: exceptions that request a stop without being an error;
        OutOfRangeError by default.
    """

    def __init__(self, clean_stop_exception_types: Any = None) -> None:
        if clean_stop_exception_types is None:
            clean_stop_exception_types = (OutOfRangeError,)
        self._clean_stops = tuple(clean_stop_exception_types)
        self._lock = threading.Lock()
        self._stop_event = threading.Event()
        self._error: tuple[Any, Any, Any] | None = None
        self._joined = False
        self._threads: set[threading.Thread] = set()
        self._until_close: list[threading.Thread] = []

    def request_stop(self, ex: BaseException | tuple[Any, ...] | None = None) -> None:
        """Requests all threads to stop.

        Args:
          ex: the exception that is the reason, or sys.exc_info(); `join` raises it. Those of
            later requests are dropped: threads that are stopped often fail.
        Raises: TypeError for another type of ex.
        """
        with self._lock:
            late = self._joined
            if not late and ex is not None and not self._stop_event.is_set():
                kind, error, trace = (
                    ex if isinstance(ex, tuple) else (type(ex), ex, ex.__traceback__)
                )
                if not isinstance(error, BaseException):
                    raise TypeError(f"ex must be an exception or sys.exc_info(), got {ex!r}")
                if not isinstance(error, self._clean_stops):
                    self._error = (kind, error, trace)
            self._stop_event.set()
        if late and isinstance(ex, BaseException):
            raise ex  # no later join would raise it

    def clear_stop(self) -> None:
        """Clears the stop request and its exception."""
        with self._lock:
            self._joined = False
            self._error = None
            self._stop_event.clear()

    def should_stop(self) -> bool:
        """Returns whether a stop was requested."""
        return self._stop_event.is_set()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Returns a context manager that converts an exception to a stop request."""
        try:
            yield
        except Exception:  # noqa: BLE001 - `join` raises it
            self.request_stop(ex=sys.exc_info())

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Waits for a stop request; returns False after a timeout."""
        return self._stop_event.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """Adds a thread that `join` waits for."""
        with self._lock:
            self._threads.add(thread)

    def _register_until_close(self, thread: threading.Thread) -> None:
        """Adds a thread that only the end of its session stops."""
        self._until_close.append(thread)

    def _join_after_close(self, timeout_s: float) -> None:
        """Waits for the threads that end with a session, after the end of the session."""
        end = time.monotonic() + timeout_s
        for thread in self._until_close:
            thread.join(max(0.0, end - time.monotonic()))

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Waits for the threads to finish.

        Args:
          threads: threads to wait for, besides the registered ones.
          stop_grace_period_secs: seconds to wait after the stop request.
          ignore_live_threads: do not raise for threads that are still running.
        Raises: the exception of the stop request; RuntimeError for running threads.
        """
        with self._lock:
            waited = list(dict.fromkeys([*self._threads, *(threads or [])]))
        while any(t.is_alive() for t in waited) and not self.wait_for_stop(0.05):
            pass
        self.request_stop()
        end = time.monotonic() + stop_grace_period_secs
        for thread in waited:
            thread.join(max(0.0, end - time.monotonic()))
        alive = [t.name for t in waited if t.is_alive()]
        with self._lock:
            self._joined = True
            self._threads.clear()
            error, self._error = self._error, None
        if error is not None:
            raise error[1].with_traceback(error[2])
        if alive and not ignore_live_threads:
            raise RuntimeError(f"Coordinator stopped with threads still running: {' '.join(alive)}")

    @property
    def joined(self) -> bool:
        """Whether `join` has returned."""
        return self._joined

    def raise_requested_exception(self) -> None:
        """Raises the exception of the stop request, if any."""
        with self._lock:
            if self._error is not None:
                raise self._error[1].with_traceback(self._error[2])


class LooperThread(threading.Thread):
    """A thread that calls a function repeatedly until its coordinator stops.

    Args:
      coord: Coordinator.
      timer_interval_secs: seconds between the starts of calls; None calls without a pause.
      target, args, kwargs: function and arguments; or override run_loop.
    Raises: ValueError if coord is not a Coordinator.
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any] | None = None,
        args: Any = None,
        kwargs: Any = None,
    ) -> None:
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord}")
        super().__init__(daemon=True)
        self._coord = coord
        self._interval = timer_interval_secs
        self._looped = target
        self._args = args or ()
        self._kwargs = kwargs or {}
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Any = None,
        kwargs: Any = None,
    ) -> LooperThread:
        """Creates and starts a LooperThread."""
        looper = LooperThread(coord, timer_interval_secs, target=target, args=args, kwargs=kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        """Loops until a stop is requested."""
        with self._coord.stop_on_exception():
            self.start_loop()
            due = time.monotonic()
            while not self._coord.should_stop():
                self.run_loop()
                if self._interval is not None:
                    due += self._interval
                    if self._coord.wait_for_stop(max(0.0, due - time.monotonic())):
                        break
            self.stop_loop()

    def start_loop(self) -> None:
        """Called once before the loop."""

    def stop_loop(self) -> None:
        """Called once after the loop."""

    def run_loop(self) -> None:
        """Called in each iteration."""
        if self._looped is not None:
            self._looped(*self._args, **self._kwargs)
