"""Datasets of the lines or records of files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.data import element_nest as nest
from headrace.graph.data.dataset import Dataset
from headrace.graph.data.dataset_node import DatasetNode, make_dataset
from headrace.graph.data.element_specs import flat_structure, output_shapes, output_types
from headrace.graph.data.mapping import AUTOTUNE, dataset_function, flat_map, interleave
from headrace.graph.data.sources import from_tensor_slices, optional_tensor
from headrace.graph.framework.tensor_spec import TensorSpec
from headrace.graph.ops.arrays.shapes import reshape
from headrace.graph.typing.aliases import DTypeStructure, TensorLike

_STRING, _INT64 = as_dtype("string"), as_dtype("int64")
_BUFFER_BYTES = 256 * 1024


class FileDataset(Dataset):
    """Base class of datasets that read files one after the other, or several at once."""

    def _read(
        self,
        filenames: Any,
        read_file: Callable[[Any], Any],
        num_parallel_reads: Any,
    ) -> None:
        """Sets what a dataset is, by a function that makes the dataset of one file."""
        names = _file_names(filenames)

        def read_one_file(filename: Any) -> Any:
            name = convert_to_tensor(filename, _STRING, name="filename")
            return make_dataset(read_file(name), TensorSpec([], _STRING))

        if num_parallel_reads is None:
            made = flat_map(names, read_one_file)
        elif num_parallel_reads == AUTOTUNE:
            made = interleave(names, read_one_file, AUTOTUNE, 1, num_parallel_reads)
        else:
            made = parallel_interleave(names, read_one_file, num_parallel_reads, 1, False)
        DatasetNode.__init__(
            self, made._variant_tensor, made.element_spec, made._inputs(), made._functions()
        )
        self._filenames = names


def parallel_interleave(
    dataset: DatasetNode,
    map_func: Callable[..., Any],
    cycle_length: Any,
    block_length: Any,
    sloppy: Any,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Any:
    """Returns a dataset of the elements of several datasets, which are read at once, in turns.

    Raises: TypeError if map_func does not return a dataset.
    """
    name = "tf.data.experimental.parallel_interleave()"
    function, specs = dataset_function(dataset, map_func, name)
    cycle = convert_to_tensor(cycle_length, _INT64, name="cycle_length")
    block = convert_to_tensor(block_length, _INT64, name="block_length")
    may_differ = convert_to_tensor(sloppy, as_dtype("bool"), name="sloppy")
    outputs = optional_tensor(
        "buffer_output_elements",
        2 * block_length if buffer_output_elements is None else buffer_output_elements,
    )
    inputs = optional_tensor(
        "prefetch_input_elements",
        2 * cycle_length if prefetch_input_elements is None else prefetch_input_elements,
    )
    node = op(
        "ParallelInterleaveDataset",
        dataset._variant_tensor,
        function.captured_inputs,
        cycle,
        block,
        may_differ,
        outputs,
        inputs,
        f=function.function,
        **flat_structure(specs),
    )
    return make_dataset(node, specs, [dataset], [function])


def _file_names(filenames: Any) -> Any:
    """Returns the dataset of the names of files. Raises: TypeError for one of other elements."""
    if not isinstance(filenames, DatasetNode):
        names = convert_to_tensor(filenames, _STRING)
        return from_tensor_slices(reshape(names, [-1], name="flat_filenames"))
    if output_types(filenames.element_spec) != _STRING:
        raise TypeError("`filenames` must be a `tf.data.Dataset` of `tf.string` elements.")
    if not output_shapes(filenames.element_spec).is_compatible_with([]):
        raise TypeError("`filenames` must be a `tf.data.Dataset` of scalar `tf.string` elements.")
    return filenames


class TextLineDataset(FileDataset):
    """A dataset of the lines of text files, without their ends.

    Args:
      filenames: [...] string, or a dataset of [] strings.
      compression_type: "" (none), "ZLIB" or "GZIP".
      buffer_size: number of bytes to read at once; None chooses one.
      num_parallel_reads: number of files to read at once; None reads one after the other.
    Raises: TypeError for a dataset of other elements.

    >>> import pathlib, headrace.graph as hr
    >>> _ = pathlib.Path("poem.txt").write_text("one\\ntwo\\n")
    >>> line = hr.data.TextLineDataset("poem.txt").make_one_shot_iterator().get_next()
    >>> with hr.Session() as session:
    ...     print(session.run(line), session.run(line))
    b'one' b'two'
    """

    _shown_as = "TextLineDatasetV1"

    def __init__(
        self,
        filenames: TensorLike | Dataset,
        compression_type: TensorLike | None = None,
        buffer_size: TensorLike | None = None,
        num_parallel_reads: int | None = None,
    ) -> None:
        def read_file(name: Any) -> Any:
            return op("TextLineDataset", name, *_format(compression_type, buffer_size))

        self._read(filenames, read_file, num_parallel_reads)


class TFRecordDataset(FileDataset):
    """A dataset of the records of TFRecord files, each a [] string.

    Args: as TextLineDataset.
    Raises: as TextLineDataset; in a run DataLossError for a damaged file.
    """

    _shown_as = "TFRecordDatasetV1"

    def __init__(
        self,
        filenames: TensorLike | Dataset,
        compression_type: TensorLike | None = None,
        buffer_size: TensorLike | None = None,
        num_parallel_reads: int | None = None,
    ) -> None:
        def read_file(name: Any) -> Any:
            return op("TFRecordDataset", name, *_format(compression_type, buffer_size))

        self._read(filenames, read_file, num_parallel_reads)


class FixedLengthRecordDataset(FileDataset):
    """A dataset of the records of binary files whose records have one length.

    Args:
      record_bytes: number of bytes of a record.
      header_bytes, footer_bytes: number of bytes to leave out at the begin and end of a file.
      others: as TextLineDataset.
    Raises: as TextLineDataset.
    """

    _shown_as = "FixedLengthRecordDatasetV1"

    def __init__(
        self,
        filenames: TensorLike | Dataset,
        record_bytes: TensorLike,
        header_bytes: TensorLike | None = None,
        footer_bytes: TensorLike | None = None,
        buffer_size: TensorLike | None = None,
        compression_type: TensorLike | None = None,
        num_parallel_reads: int | None = None,
    ) -> None:
        def read_file(name: Any) -> Any:
            record = convert_to_tensor(record_bytes, _INT64, name="record_bytes")
            header = optional_tensor("header_bytes", header_bytes)
            footer = optional_tensor("footer_bytes", footer_bytes)
            size = optional_tensor("buffer_size", buffer_size, _BUFFER_BYTES)
            kind = optional_tensor("compression_type", compression_type, "", _STRING)
            return op("FixedLengthRecordDatasetV2", name, header, record, footer, size, kind)

        self._read(filenames, read_file, num_parallel_reads)


class SqlDataset(Dataset):
    """A dataset of the rows of an SQL query, each a tuple of columns.

    Args:
      driver_name: "sqlite".
      data_source_name: path of the database.
      query: the SQL query.
      output_types: tuple of the dtypes of the columns: string, integers, bool or float64.
    Raises: in a run InvalidArgumentError for another driver, number of columns or dtype;
      UnavailableError if the system has no SQLite library.

    >>> import sqlite3, headrace.graph as hr
    >>> with sqlite3.connect("people.db") as database:
    ...     _ = database.execute("CREATE TABLE people (name TEXT, age INTEGER)")
    ...     _ = database.execute("INSERT INTO people VALUES ('Ada', 36)")
    >>> database.close()
    >>> query = "SELECT name, age FROM people"
    >>> people = hr.data.experimental.SqlDataset(
    ...     "sqlite", "people.db", query, (hr.string, hr.int32))
    >>> element = people.make_one_shot_iterator().get_next()
    >>> with hr.Session() as session:
    ...     print(session.run(element))
    (b'Ada', np.int32(36))
    """

    _shown_as = "SqlDatasetV1"

    def __init__(
        self,
        driver_name: TensorLike,
        data_source_name: TensorLike,
        query: TensorLike,
        output_types: DTypeStructure,
    ) -> None:
        inputs = [
            convert_to_tensor(value, dtype=_STRING, name=name)
            for name, value in (
                ("driver_name", driver_name),
                ("data_source_name", data_source_name),
                ("query", query),
            )
        ]
        spec = nest.map_structure(lambda dtype: TensorSpec([], dtype), output_types)
        DatasetNode.__init__(self, op("SqlDataset", *inputs, **flat_structure(spec)), spec)


def _format(compression_type: Any, buffer_size: Any) -> list[Any]:
    """Returns the inputs of a reader that say how files are compressed and read."""
    return [
        optional_tensor("compression_type", compression_type, "", _STRING),
        optional_tensor("buffer_size", buffer_size, _BUFFER_BYTES),
    ]
