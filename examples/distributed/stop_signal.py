"""Ctrl-C while the main thread may wait for another worker."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

WATCHED = (signal.SIGINT, signal.SIGTERM)
END = 0  # no signal has this number


class StopSignal:
    """Sets `requested` at SIGINT or SIGTERM: the training ends after its step. A second one exits.

    Python runs handlers of signals in the main thread, between two instructions. That may wait in
    a step for other workers, so that a thread learns of the signal through a pipe.
    """

    def __init__(self) -> None:
        self.requested = False
        self.on_request: Callable[[], Any] | None = None  # called in the thread

    def __enter__(self) -> StopSignal:
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._write_end, False)
        self._wakeup_before = signal.set_wakeup_fd(self._write_end)
        self._before = {number: signal.signal(number, self._ignore) for number in WATCHED}
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _ignore(self, number: int, frame: FrameType | None) -> None:
        pass  # the thread reads the number from the pipe

    def _watch(self) -> None:
        while True:
            number = os.read(self._read_end, 1)[0]
            if number == END:
                return
            if number in WATCHED:
                self._request(number)

    def _request(self, number: int) -> None:
        if self.requested:
            os._exit(128 + number)
        self.requested = True
        if self.on_request is not None:
            self.on_request()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup_before)
        os.write(self._write_end, bytes([END]))
        self._thread.join()
        os.close(self._read_end)
        os.close(self._write_end)
