"""The progress bar of a training; lines where the output is no terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

from tqdm import tqdm

LINE_EVERY_S = 5.0


class Progress:
    """Shows the global step, which other workers advance as well.

    Args:
      shown: whether there is a bar at all.
      done: steps of earlier runs.
      steps: with those.
    """

    def __init__(self, shown: bool, title: str, done: int, steps: int) -> None:
        terminal = sys.stderr.isatty()
        self._bar = tqdm(
            desc=title,
            total=steps,
            initial=min(done, steps),
            unit="step",
            disable=not shown,
            file=sys.stderr if terminal else Lines(),
            mininterval=0.1 if terminal else LINE_EVERY_S,
        )

    def show(self, step: int, loss: float) -> None:
        self._bar.set_postfix(loss=f"{loss:.4f}", refresh=False)
        self._bar.update(max(0, min(step, self._bar.total) - self._bar.n))

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.close()


class Lines:
    """A stream that ends each state of a bar as a line, for log files and launchers."""

    def write(self, text: str) -> Any:
        if text.strip():
            sys.stderr.write(text.strip() + "\n")

    def flush(self) -> None:
        sys.stderr.flush()
