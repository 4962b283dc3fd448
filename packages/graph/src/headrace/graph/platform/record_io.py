"""TFRecord files: hr.python_io and hr.io."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from headrace.formats.record_file import RecordWriter, read_records


class TFRecordCompressionType:
    """Compression of TFRecord files."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


_NAMES = {
    TFRecordCompressionType.NONE: "",
    TFRecordCompressionType.ZLIB: "ZLIB",
    TFRecordCompressionType.GZIP: "GZIP",
}


class TFRecordOptions:
    """Options for writing and reading TFRecord files.

    Args:
      compression_type: "", "GZIP", "ZLIB", or one of TFRecordCompressionType.
      flush_mode, input_buffer_size, output_buffer_size, window_bits, compression_level,
        compression_method, mem_level, compression_strategy: stored, without effect: readers accept
        every setting.
    """

    compression_type_map = _NAMES

    def __init__(
        self,
        compression_type: int | None = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        self.get_compression_type_string(compression_type)  # raises for others
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """Converts TFRecordOptions, a TFRecordCompressionType, a name or None to a name.

        Raises: ValueError for other values.
        """
        if not options:
            return ""
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if isinstance(options, str) and options in _NAMES.values():
            return options
        if isinstance(options, int) and options in _NAMES:
            return _NAMES[options]
        raise ValueError(
            f"compression_type must be '', 'GZIP', 'ZLIB' or of TFRecordCompressionType, "
            f"got {options!r}"
        )


def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """Yields the records of a file.

    Raises: NotFoundError for a missing file; DataLossError, with path and offset, for a corrupted
      or truncated record.
    """
    return read_records(path, TFRecordOptions.get_compression_type_string(options))


class TFRecordWriter:
    """Writes records to a file; a context manager.

    Args:
      path: path of the file, which is overwritten.
      options: TFRecordOptions, or the name of a compression.
    """

    def __init__(self, path: str | os.PathLike[str], options: Any = None) -> None:
        compression = TFRecordOptions.get_compression_type_string(options)
        self._writer = RecordWriter(os.fspath(path), compression)

    def write(self, record: bytes) -> None:
        """Appends a record. Raises: TypeError unless it is bytes."""
        if not isinstance(record, (bytes, bytearray, memoryview)):
            raise TypeError(f"a record must be bytes, got {type(record)}; encode it first")
        self._writer.write(bytes(record))

    def flush(self) -> None:
        """Makes the records so far visible to readers."""
        self._writer.flush()

    def close(self) -> None:
        """Flushes and closes the file."""
        self._writer.close()

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def summary_iterator(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Yields the Event messages of an event file."""
    from headrace.formats.proto.event_pb2 import Event

    for record in tf_record_iterator(path):
        yield Event.FromString(record)
