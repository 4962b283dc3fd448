"""Tables between the words of a vocabulary and their numbers."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import init_scope, name_scope
from headrace.graph.lookup.hash_buckets import FastHashSpec, HasherSpec, IdTableWithHashBuckets
from headrace.graph.lookup.initializers import (
    KeyValueTensorInitializer,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileStringTableInitializer,
)
from headrace.graph.lookup.tables import HashTable
from headrace.graph.ops.arrays.creation import range as range_of
from headrace.graph.ops.arrays.shapes import size
from headrace.graph.ops.elementwise.elementwise import cast
from headrace.graph.typing.aliases import DTypeLike, TensorLike

_STRING, _INT64 = as_dtype("string"), as_dtype("int64")


def _check_file(vocabulary_file: Any, vocab_size: int | None) -> None:
    if vocabulary_file is None or (isinstance(vocabulary_file, str) and not vocabulary_file):
        raise ValueError("vocabulary_file must be specified and must not be empty.")
    if vocab_size is not None and vocab_size < 1:
        if isinstance(vocabulary_file, Tensor):
            vocabulary_file = constant_value(vocabulary_file) or "?"
        raise ValueError(
            f"vocab_size must be greater than 0, got {vocab_size}. "
            f"vocabulary_file: {vocabulary_file}"
        )


def _check_buckets(num_oov_buckets: int) -> None:
    if num_oov_buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")


def index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    key_dtype: DTypeLike = "string",
    name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> Any:
    """Returns a table from the words of a file, one in each line, to their int64 line numbers.

    Args:
      vocabulary_file: [] string, the path.
      num_oov_buckets: number of buckets for other words; 0: they get the default value.
      vocab_size: number of words, if it is known; further lines are left out.
      default_value: number of other words.
      hasher_spec: hash function of the buckets.
      key_dtype: dtype of looked up words: string or an integer.
      key_column_index, value_column_index: column of the line, or a TextFileIndex.
      delimiter: separator of columns.
    Raises: ValueError without a file, or for a negative num_oov_buckets or a vocab_size below 1;
      TypeError for other dtypes.
    """
    _check_file(vocabulary_file, None)
    _check_buckets(num_oov_buckets)
    _check_file(vocabulary_file, vocab_size)
    dtype = as_dtype(key_dtype)
    if not dtype.is_integer and dtype.base_dtype != _STRING:
        raise TypeError("Only integer and string keys are supported.")
    with name_scope(name, "string_to_index"):
        with name_scope(None, "hash_table"):
            rows = TextFileIdTableInitializer(
                vocabulary_file,
                vocab_size=vocab_size,
                key_dtype=_INT64 if dtype.is_integer else dtype,
                name="table_init",
                key_column_index=key_column_index,
                value_column_index=value_column_index,
                delimiter=delimiter,
            )
            table = HashTable(rows, default_value)
        if num_oov_buckets:
            return IdTableWithHashBuckets(
                table, num_oov_buckets, hasher_spec=hasher_spec, key_dtype=dtype
            )
        return table


def index_table_from_tensor(
    vocabulary_list: TensorLike,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    dtype: DTypeLike = "string",
    name: str | None = None,
) -> Any:
    """Returns a table from the elements of a tensor to their int64 positions.

    Args:
      vocabulary_list: [n] string or integers, all different.
      num_oov_buckets: number of buckets for other words; 0: they get the default value.
      default_value: number of other words.
      hasher_spec: hash function of the buckets.
      dtype: dtype of looked up words: string or an integer.
    Raises: ValueError without a list, for a negative num_oov_buckets, or a list that does not fit
      dtype; TypeError for other dtypes.
    """
    if vocabulary_list is None:
        raise ValueError("vocabulary_list must be specified.")
    _check_buckets(num_oov_buckets)
    wanted = as_dtype(dtype)
    if not wanted.is_integer and wanted.base_dtype != _STRING:
        raise TypeError("Only integer and string keys are supported.")
    # A function that looks words up captures the table, which belongs to the graph around it.
    with name_scope(name, "string_to_index"), init_scope():
        keys = convert_to_tensor(vocabulary_list)
        if keys.dtype.is_integer != wanted.is_integer:
            expected = "integer" if wanted.is_integer else "non-integer"
            raise ValueError(f"Expected {expected}, got {keys.dtype}.")
        if not wanted.is_integer and keys.dtype.base_dtype != wanted:
            raise ValueError(f"Expected {wanted}, got {keys.dtype}.")
        positions = cast(range_of(size(keys)), _INT64)
        with name_scope(None, "hash_table"):
            if keys.dtype.is_integer:
                keys = cast(keys, _INT64)
            rows = KeyValueTensorInitializer(
                keys, positions, keys.dtype.base_dtype, _INT64, name="table_init"
            )
            table = HashTable(rows, default_value)
        if num_oov_buckets:
            return IdTableWithHashBuckets(
                table, num_oov_buckets, hasher_spec=hasher_spec, key_dtype=wanted
            )
        return table


def index_to_string_table_from_file(
    vocabulary_file: TensorLike,
    vocab_size: int | None = None,
    default_value: str = "UNK",
    name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER,
    value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> HashTable:
    """Returns a table from int64 line numbers to the words of a file.

    Args: as index_table_from_file; default_value is the word of other numbers.
    Raises: ValueError without a file, or for a vocab_size below 1.
    """
    _check_file(vocabulary_file, vocab_size)
    with name_scope(name, "index_to_string"):
        rows = TextFileStringTableInitializer(
            vocabulary_file,
            vocab_size=vocab_size,
            name="table_init",
            key_column_index=key_column_index,
            value_column_index=value_column_index,
            delimiter=delimiter,
        )
        return HashTable(rows, default_value)


def index_to_string_table_from_tensor(
    vocabulary_list: TensorLike, default_value: str = "UNK", name: str | None = None
) -> HashTable:
    """Returns a table from int64 positions to the strings of a tensor.

    Args:
      vocabulary_list: [n] string.
      default_value: string of other positions.
    Raises: ValueError without a list.
    """
    if vocabulary_list is None:
        raise ValueError("vocabulary_list must be specified.")
    with name_scope(name, "index_to_string"), init_scope():
        words = convert_to_tensor(vocabulary_list, dtype=_STRING)
        positions = cast(range_of(size(words)), _INT64)
        rows = KeyValueTensorInitializer(positions, words, _INT64, _STRING, name="table_init")
        return HashTable(rows, default_value)


# ---- the names and arguments of contrib.lookup ---------------------------------------------------


def contrib_index_table_from_tensor(
    mapping: TensorLike,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    dtype: DTypeLike = "string",
    name: str | None = None,
) -> Any:
    """Same as index_table_from_tensor of `mapping`. Raises: ValueError without a mapping."""
    if mapping is None:
        raise ValueError("mapping must be specified.")
    return index_table_from_tensor(
        mapping, num_oov_buckets, default_value, hasher_spec, dtype, name
    )


def contrib_index_to_string_table_from_tensor(
    mapping: TensorLike, default_value: str = "UNK", name: str | None = None
) -> HashTable:
    """Same as index_to_string_table_from_tensor. Raises: ValueError without a mapping."""
    if mapping is None:
        raise ValueError("mapping must be specified.")
    return index_to_string_table_from_tensor(mapping, default_value, name)


def string_to_index_table_from_file(
    vocabulary_file: TensorLike | None = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    name: str | None = None,
) -> Any:
    """Same as index_table_from_file, its old name. Raises: as index_table_from_file."""
    return index_table_from_file(
        vocabulary_file, num_oov_buckets, vocab_size, default_value, hasher_spec, name=name
    )


def string_to_index_table_from_tensor(
    mapping: TensorLike,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    name: str | None = None,
) -> Any:
    """Same as index_table_from_tensor, its old name. Raises: ValueError without a mapping."""
    return contrib_index_table_from_tensor(
        mapping, num_oov_buckets, default_value, hasher_spec, name=name
    )


def string_to_index(
    tensor: Any, mapping: TensorLike, default_value: int = -1, name: str | None = None
) -> Any:
    """Returns the positions of strings in `mapping`, which tables_initializer() reads."""
    table = contrib_index_table_from_tensor(mapping, default_value=default_value, name=name)
    return table.lookup(tensor)


def index_to_string(
    tensor: Any, mapping: TensorLike, default_value: str = "UNK", name: str | None = None
) -> Any:
    """Returns the strings at positions of `mapping`, which tables_initializer() reads."""
    return contrib_index_to_string_table_from_tensor(mapping, default_value, name).lookup(tensor)
