"""Readers: take work units, mostly names of files, from a queue, and give their records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.op_registry import no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.ops.queues import QueueBase
from headrace.graph.platform.record_io import TFRecordOptions
from headrace.graph.typing.aliases import TensorLike

if TYPE_CHECKING:
    QueueLike = QueueBase | Tensor


class ReaderBase:
    """Base class of readers.

    A reader takes a work unit from a queue when it has no unit in progress, and gives one record
    of it each time. The step that reads waits while the queue is empty, and holds no thread.

    Args:
      reader_ref: handle of the reader.
      supports_serialize: whether the reader's state can be saved.
    """

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = False) -> None:
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    reader_ref = property(lambda self: self._reader_ref, doc="The handle's tensor.")
    supports_serialize = property(
        lambda self: self._supports_serialize, doc="Whether the reader's state can be saved."
    )

    def _op(self, verb: str) -> str:
        """Returns the name of an op for the kind of handle."""
        return f"Reader{verb}V2" if self._reader_ref.dtype.name == "resource" else f"Reader{verb}"

    def read(self, queue: QueueLike, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Returns the next record.

        Args:
          queue: queue with one string component: the work units.
        Returns: (key, value), both [] string.
        Raises: in a run OutOfRangeError if the queue is closed and empty; DataLossError for a
          corrupted file; NotFoundError for a missing one.
        """
        key, value = op(self._op("Read"), self._reader_ref, _handle(queue), name=name)
        return key, value

    def read_up_to(
        self, queue: QueueLike, num_records: TensorLike, name: str | None = None
    ) -> tuple[Tensor, Tensor]:
        """Returns at most num_records records; fewer at the end of a work unit.

        Args:
          queue: queue with one string component: the work units.
          num_records: [] int64.
        Returns: (keys, values), both [number] string.
        Raises: as read.
        """
        number = convert_to_tensor(num_records, dtype="int64", name="num_records")
        keys, values = op(self._op("ReadUpTo"), self._reader_ref, _handle(queue), number, name=name)
        return keys, values

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """Returns the number of records that were read, [] int64."""
        return op(self._op("NumRecordsProduced"), self._reader_ref, name=name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """Returns the number of work units that were read to their ends, [] int64."""
        return op(self._op("NumWorkUnitsCompleted"), self._reader_ref, name=name)

    def serialize_state(self, name: str | None = None) -> Tensor:
        """Returns the reader's state, [] string.

        Raises: in a run UnimplementedError if the reader does not support it.
        """
        return op(self._op("SerializeState"), self._reader_ref, name=name)

    def restore_state(self, state: TensorLike, name: str | None = None) -> Operation:
        """Creates an operation that restores a state of serialize_state.

        Raises: in a run UnimplementedError if the reader does not support it, InvalidArgumentError
          for another state.
        """
        return op(self._op("RestoreState"), self._reader_ref, state, name=name)

    def reset(self, name: str | None = None) -> Operation:
        """Creates an operation that restores the initial state."""
        return op(self._op("Reset"), self._reader_ref, name=name)


def _handle(queue: QueueLike) -> Tensor:
    return queue if isinstance(queue, Tensor) else queue.queue_ref


class WholeFileReader(ReaderBase):
    """Reads files whole: a record's key is the name of the file, its value the contents."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(op("WholeFileReaderV2", name=name), supports_serialize=True)


class IdentityReader(ReaderBase):
    """Returns each work unit as one record, with key and value equal to the unit."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(op("IdentityReaderV2", name=name), supports_serialize=True)


class TextLineReader(ReaderBase):
    """Reads lines of text files, without their ends; keys are "file:line number".

    Args:
      skip_header_lines: number of lines at the begin of each file that are left out.
    """

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        super().__init__(
            op("TextLineReaderV2", skip_header_lines=skip_header_lines or 0, name=name)
        )


class FixedLengthRecordReader(ReaderBase):
    """Reads records of one length; keys are "file:record number".

    Args:
      record_bytes: size of a record.
      header_bytes: size of what is left out at the begin of each file.
      footer_bytes: size of what is left out at the end.
      hop_bytes: distance from a record to the next; None or 0: record_bytes.
      encoding: "ZLIB" for compressed files; None or "" for others.
    """

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        super().__init__(
            op(
                "FixedLengthRecordReaderV2",
                record_bytes=record_bytes,
                header_bytes=header_bytes or 0,
                footer_bytes=footer_bytes or 0,
                hop_bytes=hop_bytes or 0,
                encoding=encoding or "",
                name=name,
            )
        )


class TFRecordReader(ReaderBase):
    """Reads the records of TFRecord files; keys are "file:offset".

    Args:
      options: TFRecordOptions with the compression of the files.
    """

    def __init__(self, name: str | None = None, options: TFRecordOptions | None = None) -> None:
        compression = TFRecordOptions.get_compression_type_string(options)
        super().__init__(op("TFRecordReaderV2", compression_type=compression, name=name))


for _verb in (
    "Read", "ReadUpTo", "NumRecordsProduced", "NumWorkUnitsCompleted", "SerializeState",
    "RestoreState", "Reset",
):  # fmt: skip
    no_gradient(f"Reader{_verb}", "records are read from files")
    no_gradient(f"Reader{_verb}V2", "records are read from files")
