"""Initializers of lookup tables: from tensors and from text files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.formats.dtypes import DType, as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.default_graph import add_to_collection
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import init_scope, name_scope
from headrace.graph.typing.aliases import DTypeLike, TensorLike

if TYPE_CHECKING:
    from headrace.graph.lookup.tables import LookupInterface


class TableInitializerBase:
    """Base class of the initializers of lookup tables.

    Args:
      key_dtype, value_dtype: dtypes of the table.
    """

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike) -> None:
        self._key_dtype = as_dtype(key_dtype)
        self._value_dtype = as_dtype(value_dtype)

    key_dtype = property(lambda self: self._key_dtype, doc="The dtype of the table's keys.")
    value_dtype = property(lambda self: self._value_dtype, doc="The dtype of the table's values.")

    @property
    def _shared_name(self) -> str:
        """The name under which sessions share the table; "": that of its node."""
        return ""

    def initialize(self, table: LookupInterface) -> Operation:
        """Creates the operation that initialises a table. Subclasses override it."""
        raise NotImplementedError("Calling an abstract method.")


def check_table_dtypes(table: LookupInterface, key_dtype: DType, value_dtype: DType) -> None:
    """Raises TypeError unless the table has these dtypes."""
    if key_dtype.base_dtype != table.key_dtype:
        raise TypeError(
            f"Invalid key dtype, expected {table.key_dtype} but got {key_dtype.base_dtype}."
        )
    if value_dtype.base_dtype != table.value_dtype:
        raise TypeError(
            f"Invalid value dtype, expected {table.value_dtype} but got {value_dtype.base_dtype}."
        )


class KeyValueTensorInitializer(TableInitializerBase):
    """Initialises a table from tensors.

    Args:
      keys: [n] keys.
      values: [n] values.
      key_dtype, value_dtype: dtypes of keys and values that are not tensors.
    """

    def __init__(
        self,
        keys: TensorLike,
        values: TensorLike,
        key_dtype: DTypeLike | None = None,
        value_dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        with init_scope():
            self._keys = convert_to_tensor(keys, dtype=key_dtype, name="keys")
            self._values = convert_to_tensor(values, dtype=value_dtype, name="values")
        self._name = name if name is not None else "key_value_init"
        super().__init__(self._keys.dtype, self._values.dtype)

    def initialize(self, table: LookupInterface) -> Operation:
        """Creates the operation that initialises a table.

        Raises: TypeError if the table has other dtypes.
        """
        check_table_dtypes(table, self._keys.dtype, self._values.dtype)
        with name_scope(self._name, values=(table.resource_handle, self._keys, self._values)):
            initialise = op("LookupTableImportV2", table.resource_handle, self._keys, self._values)
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, initialise)
        return initialise


class TextFileIndex:
    """What of a line of a text file is a key or a value, besides the number of a column."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


def _check_index(what: str, index: int, dtype: DType) -> None:
    if index < -2:
        raise ValueError(f"Invalid {what} index {index}.")
    if index == TextFileIndex.LINE_NUMBER and dtype != as_dtype("int64"):
        raise ValueError(
            f"Signature mismatch. {what.capitalize()}s must be dtype {as_dtype('int64')}, "
            f"got {dtype}."
        )
    if index == TextFileIndex.WHOLE_LINE and not dtype.is_integer and dtype != as_dtype("string"):
        raise ValueError(
            f"Signature mismatch. {what.capitalize()}s must be integer or string, got {dtype}."
        )


class TextFileInitializer(TableInitializerBase):
    """Initialises a table from a text file with a row in each line.

    Args:
      filename: [] string, the path.
      key_dtype, value_dtype: dtypes of the table.
      key_index, value_index: column of the line, from 0, or a TextFileIndex.
      vocab_size: number of rows, if it is known; further lines are left out.
      delimiter: separator of columns.
      value_index_offset: number that is added to line numbers.
    Raises: ValueError for an empty filename, an index that does not fit the dtype, or a vocab_size
      below 1.
    """

    def __init__(
        self,
        filename: TensorLike,
        key_dtype: DTypeLike,
        key_index: int,
        value_dtype: DTypeLike,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        if not isinstance(filename, Tensor) and not filename:
            raise ValueError("Filename required for TextFileInitializer.")
        super().__init__(key_dtype, value_dtype)
        _check_index("key", key_index, self.key_dtype)
        _check_index("value", value_index, self.value_dtype)
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"Invalid vocab_size {vocab_size}.")
        self._filename = filename
        self._key_index = key_index
        self._value_index = value_index
        self._vocab_size = vocab_size
        self._delimiter = delimiter
        self._name = name
        self._offset = value_index_offset

    @property
    def _shared_name(self) -> str:
        # Tables of one file are one table, as in TensorFlow.
        parts: list[Any] = ["hash_table", self._filename]
        if self._vocab_size:
            parts.append(self._vocab_size)
        parts += [self._key_index, self._value_index]
        if self._offset:
            parts.append(self._offset)
        if isinstance(self._filename, Tensor):
            parts[1] = f"{self._filename.name}"
        return "_".join(str(part) for part in parts)

    def initialize(self, table: LookupInterface) -> Operation:
        """Creates the operation that initialises a table.

        Raises: TypeError if the table has other dtypes.
        """
        check_table_dtypes(table, self.key_dtype, self.value_dtype)
        with name_scope(self._name, "text_file_init", (table.resource_handle,)):
            filename = convert_to_tensor(self._filename, dtype="string", name="asset_filepath")
            initialise = op(
                "InitializeTableFromTextFileV2",
                table.resource_handle,
                filename,
                key_index=self._key_index,
                value_index=self._value_index,
                vocab_size=-1 if self._vocab_size is None else self._vocab_size,
                delimiter=self._delimiter,
                offset=self._offset,
            )
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, initialise)
        if constant_value(filename) is not None:
            add_to_collection(GraphKeys.ASSET_FILEPATHS, filename)
        return initialise


class TextFileStringTableInitializer(TextFileInitializer):
    """Initialises a table from int64 to string: by default from line numbers to lines.

    Args: as TextFileInitializer; key_column_index and value_column_index are its indices.
    """

    def __init__(
        self,
        filename: TensorLike,
        key_column_index: int = TextFileIndex.LINE_NUMBER,
        value_column_index: int = TextFileIndex.WHOLE_LINE,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = "text_file_string_table_init",
    ) -> None:
        super().__init__(
            filename, "int64", key_column_index, "string", value_column_index,
            vocab_size=vocab_size, delimiter=delimiter, name=name,
        )  # fmt: skip


class TextFileIdTableInitializer(TextFileInitializer):
    """Initialises a table from strings or integers to int64: by default from lines to numbers.

    Args: as TextFileInitializer; key_column_index and value_column_index are its indices.
    """

    def __init__(
        self,
        filename: TensorLike,
        key_column_index: int = TextFileIndex.WHOLE_LINE,
        value_column_index: int = TextFileIndex.LINE_NUMBER,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = "text_file_id_table_init",
        key_dtype: DTypeLike = "string",
    ) -> None:
        super().__init__(
            filename, key_dtype, key_column_index, "int64", value_column_index,
            vocab_size=vocab_size, delimiter=delimiter, name=name,
        )  # fmt: skip
