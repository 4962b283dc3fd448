"""Datasets of the rows of CSV files."""

from __future__ import annotations

import csv
import gzip
import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from headrace.formats.dtypes import DType, as_dtype
from headrace.graph.builder.conversion import constant, convert_n_to_tensor, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.data.dataset import AUTOTUNE, Dataset
from headrace.graph.data.dataset_node import DatasetNode
from headrace.graph.data.element_specs import flat_structure
from headrace.graph.data.map_and_batch import parallel_interleave, shuffle_and_repeat
from headrace.graph.data.mapping import map_elements
from headrace.graph.data.option_sets import Options
from headrace.graph.data.selection import ignore_errors as ignored_errors
from headrace.graph.data.sources import optional_tensor
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.tensor_spec import TensorSpec
from headrace.graph.platform import gfile
from headrace.graph.typing.aliases import TensorLike

_STRING, _INT32, _INT64 = as_dtype("string"), as_dtype("int32"), as_dtype("int64")
# Types of a column, from the narrowest to the widest.
_TYPES = (_INT32, _INT64, as_dtype("float32"), as_dtype("float64"), _STRING)
_BUFFER_BYTES = 4 * 1024 * 1024


class CsvDataset(Dataset):
    """A dataset of the rows of CSV files: each a tuple of [] tensors.

    Args:
      filenames: [...] string.
      record_defaults: for each column its value where a field is empty; a dtype, or an empty
        tensor, makes the field required.
      compression_type: "" (none), "ZLIB" or "GZIP".
      buffer_size: number of bytes to read at once; None chooses one.
      header: whether to leave out the first line of each file.
      field_delim: character between fields.
      use_quote_delim: whether double quotes quote fields.
      na_value: further text of an empty field.
      select_cols: numbers of the columns to read, ascending; None reads all.

    >>> import pathlib, headrace.graph as hr
    >>> _ = pathlib.Path("rows.csv").write_text("a,1\\nb,\\n")
    >>> dataset = hr.data.experimental.CsvDataset("rows.csv", [hr.string, [7]])
    >>> element = dataset.make_one_shot_iterator().get_next()
    >>> with hr.Session() as session:
    ...     print(*session.run(element), *session.run(element))
    b'a' 1 b'b' 7
    """

    _shown_as = "CsvDatasetV1"

    def __init__(
        self,
        filenames: TensorLike,
        record_defaults: Sequence[Any],
        compression_type: TensorLike | None = None,
        buffer_size: TensorLike | None = None,
        header: TensorLike = False,
        field_delim: TensorLike = ",",
        use_quote_delim: TensorLike = True,
        na_value: TensorLike = "",
        select_cols: TensorLike | None = None,
    ) -> None:
        names = convert_to_tensor(filenames, _STRING, name="filenames")
        kind = optional_tensor("compression_type", compression_type, "", _STRING)
        given = [_required_if_type(value) for value in record_defaults]
        defaults = convert_n_to_tensor(given, name="record_defaults")
        size = optional_tensor("buffer_size", buffer_size, _BUFFER_BYTES)
        has_header = convert_to_tensor(header, as_dtype("bool"), name="header")
        delimiter = convert_to_tensor(field_delim, _STRING, name="field_delim")
        quoted = convert_to_tensor(use_quote_delim, as_dtype("bool"), name="use_quote_delim")
        missing = convert_to_tensor(na_value, _STRING, name="na_value")
        columns = optional_tensor("select_cols", select_cols, [], _INT64)
        specs = tuple([TensorSpec([], default.dtype) for default in defaults])
        node = op(
            "CSVDataset", names, kind, size, has_header, delimiter, quoted, missing, columns,
            defaults, output_shapes=flat_structure(specs)["output_shapes"],
        )  # fmt: skip
        DatasetNode.__init__(self, node, specs)


def _required_if_type(value: Any) -> Any:
    """Returns the default value of a column; for a dtype the empty tensor of a required field."""
    if isinstance(value, Tensor):
        return value
    dtype = value if isinstance(value, DType) else None
    if dtype is None and isinstance(value, type) and issubclass(value, np.generic):
        dtype = as_dtype(value)
    return constant([], dtype) if dtype in _TYPES else value


def make_csv_dataset(
    file_pattern: str | Sequence[str],
    batch_size: int,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: str | None = None,
    ignore_errors: bool = False,
) -> Dataset:
    """Returns a dataset of batches of the rows of CSV files, as a dict from columns to tensors.

    Names and dtypes of columns that are not given are read from the files, now.

    Args:
      file_pattern: glob pattern, or a list of them.
      column_names: names of all columns; None takes them from the first lines.
      column_defaults: as CsvDataset, of the selected columns; None takes dtypes from the files.
      label_name: column to return beside the dict, in a pair.
      select_columns: names or numbers of the columns to read; None reads all.
      header: whether the first line of each file has names.
      num_epochs: number of repetitions; None repeats without end and leaves out a smaller batch.
      shuffle, shuffle_buffer_size, shuffle_seed: whether and how to shuffle rows and files.
      prefetch_buffer_size: number of batches to compute ahead; None chooses one.
      num_parallel_reads: number of files to read at once, 1 by default.
      sloppy: whether the order may depend on which file is read faster.
      num_rows_for_inference: number of rows that decide dtypes; None reads all.
      ignore_errors: whether to leave out rows that do not parse.
      others: as CsvDataset.
    Raises: ValueError for files that do not exist or differ in columns, and unknown, repeated or
      missing columns.
    """
    names = _files(file_pattern)
    dataset = Dataset.from_tensor_slices(names)
    if shuffle:
        dataset = dataset.shuffle(len(names), shuffle_seed)
    table = _Table(names, field_delim, use_quote_delim, header, na_value)
    if column_names is None or column_defaults is None:
        table.open = _opener(compression_type)
    if column_names is None:
        if not header:
            raise ValueError("Cannot infer column names without a header line.")
        column_names = table.column_names()
    column_names = list(column_names)
    if len(column_names) != len(set(column_names)):
        raise ValueError("Cannot have duplicate column names.")
    selected = None
    if select_columns is not None:
        selected = _column_numbers(select_columns, column_names)
    if column_defaults is not None:
        defaults = [_required_if_type(value) for value in column_defaults]
    else:
        defaults = table.column_defaults(len(column_names), selected, num_rows_for_inference)
    if selected is not None:
        if len(defaults) != len(selected):
            raise ValueError(
                "If specified, column_defaults and select_columns must have same length."
            )
        column_names = [column_names[i] for i in selected]
    if label_name is not None and label_name not in column_names:
        raise ValueError("`label_name` provided must be one of the columns.")

    def rows_of(name: Any) -> Dataset:
        rows = CsvDataset(
            name,
            record_defaults=defaults,
            field_delim=field_delim,
            use_quote_delim=use_quote_delim,
            na_value=na_value,
            select_cols=selected,
            header=header,
            compression_type=compression_type,
        )
        return rows.apply(ignored_errors()) if ignore_errors else rows

    def as_features(*columns: Any) -> Any:
        features = OrderedDict(zip(column_names, columns, strict=True))
        return features if label_name is None else (features, features.pop(label_name))

    dataset = read_in_parallel(dataset, rows_of, num_parallel_reads, sloppy)
    dataset = shuffled_and_repeated(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None)
    dataset = map_elements(dataset, as_features, use_inter_op_parallelism=False)
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def read_in_parallel(
    files: Dataset, read_file: Callable[[Any], Any], num_parallel_reads: Any, sloppy: bool
) -> Dataset:
    """Returns a dataset of the elements of files, of which some are read at once."""
    reads = 1 if num_parallel_reads is None else num_parallel_reads
    if reads != AUTOTUNE:
        return files.apply(parallel_interleave(read_file, cycle_length=reads, sloppy=sloppy))
    options = Options()
    options.experimental_deterministic = not sloppy
    return files.interleave(read_file, num_parallel_calls=reads).with_options(options)


def shuffled_and_repeated(
    dataset: Dataset, num_epochs: Any, shuffle: bool, buffer_size: Any, seed: Any
) -> Dataset:
    """Returns a dataset that is shuffled if asked for, and repeated."""
    if num_epochs != 1 and shuffle:
        return dataset.apply(shuffle_and_repeat(buffer_size, num_epochs, seed))
    if shuffle:
        return dataset.shuffle(buffer_size, seed)
    return dataset.repeat(num_epochs) if num_epochs != 1 else dataset


def _files(file_pattern: Any) -> list[str]:
    patterns = list(file_pattern) if isinstance(file_pattern, (list, tuple)) else [file_pattern]
    if not patterns:
        raise ValueError("File pattern is empty.")
    names = sorted([name for pattern in patterns for name in gfile.Glob(pattern)])
    if not names:
        raise ValueError(f"No files match {file_pattern}.")
    return names


def _opener(compression_type: Any) -> Callable[[str], Any]:
    """Returns the function that opens files to find out about their columns."""
    kind = compression_type
    if isinstance(kind, Tensor):
        value = constant_value(kind)
        if value is None:
            raise ValueError("Received unkown compression_type")
        kind = value.item().decode()
    if kind == "GZIP":
        return lambda name: gzip.open(gfile.GFile(name, "rb"), "rt")
    if kind == "ZLIB":
        raise ValueError(
            f"compression_type ({compression_type}) is not supported for probing columns"
        )
    if kind:
        raise ValueError(f"compression_type ({compression_type}) is not supported")
    return lambda name: gfile.GFile(name, "r")


def _column_numbers(columns: Sequence[Any], names: list[str]) -> list[int]:
    """Returns the numbers of columns, ascending. Raises: ValueError for unknown or equal ones."""
    numbers = []
    for column in columns:
        if isinstance(column, int):
            if not 0 <= column < len(names):
                raise ValueError(
                    f"Column index {column} specified in select_columns out of valid range."
                )
            numbers.append(column)
        elif column in names:
            numbers.append(names.index(column))
        else:
            raise ValueError(
                f"Value '{column}' specified in select_columns not a valid column index or name."
            )
    if len(set(numbers)) != len(numbers):
        raise ValueError("select_columns contains duplicate columns")
    return sorted(numbers)


class _Table:
    """What files say about their columns, read while the graph is built."""

    def __init__(
        self, files: list[str], delimiter: str, use_quotes: bool, header: bool, na_value: str
    ) -> None:
        self._files = files
        self._format: dict[str, Any] = {
            "delimiter": delimiter,
            "quoting": csv.QUOTE_MINIMAL if use_quotes else csv.QUOTE_NONE,
        }
        self._header = header
        self._na_value = na_value
        self.open: Callable[[str], Any] = lambda name: gfile.GFile(name, "r")

    def column_names(self) -> list[str]:
        """Returns the first line of the files. Raises: ValueError for empty or unequal ones."""
        found: list[str] | None = None
        for name in self._files:
            with self.open(name) as file:
                line = next(csv.reader(file, **self._format), None)
            if line is None:
                raise ValueError(
                    f"Received StopIteration when reading the header line of {name}.  Empty file?"
                )
            if found is not None and line != found:
                raise ValueError("Files have different column names in the header row.")
            found = line
        assert found is not None
        return found

    def column_defaults(
        self, count: int, selected: list[int] | None, most_rows: int | None
    ) -> list[Tensor]:
        """Returns the default values of columns, of dtypes that hold the first rows.

        Raises: ValueError for rows of another number of fields.
        """
        columns = list(range(count)) if selected is None else selected
        types: list[DType | None] = [None] * len(columns)
        for row in itertools.islice(self._rows(count), most_rows):
            types = [
                self._type_of(row[column], dtype)
                for column, dtype in zip(columns, types, strict=True)
            ]
        return [constant(["" if t in (None, _STRING) else 0], t or _STRING) for t in types]

    def _rows(self, count: int) -> Iterator[list[str]]:
        for name in self._files:
            with self.open(name) as file:
                rows = csv.reader(file, **self._format)
                if self._header:
                    next(rows, None)
                for row in rows:
                    if len(row) != count:
                        raise ValueError(
                            "Problem inferring types: CSV row has different number of fields than "
                            "expected."
                        )
                    yield row

    def _type_of(self, text: str, before: DType | None) -> DType | None:
        """Returns the narrowest dtype that holds a field and those before it."""
        if text in ("", self._na_value):
            return before
        first = 0 if before is None else _TYPES.index(before)
        return next((t for t in _TYPES[first:] if _holds(t, text)), _STRING)


def _holds(dtype: DType, text: str) -> bool:
    try:
        if dtype.is_integer:
            return dtype.min <= int(text) <= dtype.max
        if dtype.is_floating:
            with np.errstate(over="ignore"):
                return bool(dtype.as_numpy_dtype(text) < np.inf)
    except (OverflowError, ValueError):
        return False
    return True
