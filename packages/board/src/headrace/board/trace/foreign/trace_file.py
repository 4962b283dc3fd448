"""Reads a trace file of another program's profiler."""

from __future__ import annotations

import os
import zlib
from typing import BinaryIO

from headrace.board.reading.places.named_folders import LogSource
from headrace.board.reading.trace_file_names import is_xplane
from headrace.board.store.trace_files import TraceFile
from headrace.board.trace.foreign.chrome_events import read_chrome_trace
from headrace.board.trace.foreign.xplane_events import read_xplane
from headrace.board.trace.reading.step_columns import TraceError
from headrace.board.trace.reading.step_trace import StepTrace

MAX_BYTES = 1 << 30  # uncompressed
_GZIP = b"\x1f\x8b"
_BLOCK = 4 << 20


def read_trace_file(folder: LogSource, file: TraceFile) -> StepTrace:
    """Reads a trace in Chrome's format or XLA's, either of them also compressed with gzip.

    Raises: TraceError if the file is gone, too large, or not a trace.
    """
    data = _content(folder, file)
    if is_xplane(file.name):
        return read_xplane(data).trace()
    return read_chrome_trace(data.decode("utf-8", "replace")).trace()


def _content(folder: LogSource, file: TraceFile) -> bytes:
    try:
        fd = folder.open_file(file.path)
    except OSError as error:
        raise TraceError(f"{file.name} cannot be opened: {error.strerror or error}") from None
    with os.fdopen(fd, "rb") as opened:
        head = opened.peek(2)[:2]
        try:
            if head != _GZIP:
                data = opened.read(MAX_BYTES + 1)
                _check_size(len(data), file)
                return data
            return _unzipped(opened, file)
        except OSError as error:
            raise TraceError(f"{file.name} cannot be read: {error.strerror or error}") from None


def _unzipped(opened: BinaryIO, file: TraceFile) -> bytes:
    """Returns what a gzip file holds; of a file that ends early, what there is."""
    unzip = zlib.decompressobj(31)
    parts: list[bytes] = []
    size = 0
    while block := opened.read(_BLOCK):
        try:
            # The limit is on the result: a small file may hold gigabytes of zeros.
            parts.append(unzip.decompress(block, MAX_BYTES + 1 - size))
        except zlib.error as error:
            raise TraceError(f"{file.name} is not intact gzip: {error}") from None
        size += len(parts[-1])
        _check_size(size, file)
    return b"".join(parts)


def _check_size(size: int, file: TraceFile) -> None:
    if size > MAX_BYTES:
        raise TraceError(
            f"{file.name} has more than {MAX_BYTES >> 20} MiB uncompressed:"
            " record fewer steps, or open it in Perfetto"
        )
