"""Decodes raw bytes, compressed strings, CSV, JSON and serialized tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.formats import op_catalogue
from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.op_registry import no_gradient
from headrace.graph.framework.operation import Tensor
from headrace.graph.typing.aliases import DTypeLike, TensorLike


def decode_raw(
    input_bytes: TensorLike | None = None,
    out_type: DTypeLike | None = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: TensorLike | None = None,  # noqa: A002 - TF's name
) -> Tensor:
    """Reinterprets the bytes of strings as numbers.

    Args:
      input_bytes: [...] string, all of one length; bytes: its old name.
      out_type: dtype of the numbers.
      little_endian: byte order of the numbers.
    Returns: [..., length / size of a number], out_type.
    """
    x = bytes if input_bytes is None else input_bytes
    return op("DecodeRaw", x, out_type=as_dtype(out_type), little_endian=little_endian, name=name)


def decode_compressed(
    bytes: TensorLike,  # noqa: A002 - TF's name
    compression_type: str = "",
    name: str | None = None,
) -> Tensor:
    """Decompresses strings. Args: compression_type: "", "ZLIB" or "GZIP"."""
    return op("DecodeCompressed", bytes, compression_type=compression_type, name=name)


def parse_tensor(serialized: TensorLike, out_type: DTypeLike, name: str | None = None) -> Tensor:
    """Parses a serialized TensorProto."""
    return op("ParseTensor", serialized, out_type=as_dtype(out_type), name=name)


def serialize_tensor(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Serializes a tensor as a TensorProto."""
    return op("SerializeTensor", tensor, name=name)


def decode_json_example(json_examples: TensorLike, name: str | None = None) -> Tensor:
    """Converts Example messages in JSON to serialized ones."""
    return op("DecodeJSONExample", json_examples, name=name)


def decode_csv(
    records: TensorLike,
    record_defaults: Sequence[TensorLike],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
) -> list[Tensor]:
    """Parses lines of CSV.

    Args:
      records: [...] string, one line each.
      record_defaults: for each column the default of empty fields; an empty list or a dtype makes
        the field required. Its dtype is the dtype of the column.
      field_delim: separator of fields.
      use_quote_delim: treat double quotes as delimiters.
      na_value: additional text that means an empty field.
      select_cols: ascending indices of the columns to read; None reads all.
    Returns: one tensor per column, of the shape of records.
    Raises: ValueError if the numbers of columns and defaults differ, or select_cols is not
      ascending.
    """
    columns = [] if select_cols is None else list(select_cols)
    if columns and len(columns) != len(record_defaults):
        raise ValueError(
            f"Length of select_cols and record_defaults do not match: {len(columns)} and "
            f"{len(record_defaults)}"
        )
    if any(b <= a for a, b in zip(columns, columns[1:])):
        raise ValueError(f"select_cols must be strictly increasing, is {columns}")
    if columns and columns[0] < 0:
        raise ValueError(f"select_cols must not be negative, is {columns}")
    defaults = [_default(d) for d in record_defaults]
    return op(
        "DecodeCSV",
        records,
        defaults,
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        na_value=na_value,
        select_cols=columns,
        name=name,
    )


def _default(value: Any) -> Tensor:
    """Returns a column's default; an empty vector of its dtype for a required field."""
    if isinstance(value, (type, str)) or hasattr(value, "as_datatype_enum"):
        try:
            return convert_to_tensor([], dtype=as_dtype(value))
        except TypeError:  # a string value, not the name of a dtype
            pass
    return convert_to_tensor(value)


for _op_type in op_catalogue.names():
    if op_catalogue.family(_op_type) == "parsing":
        no_gradient(_op_type, "bytes have no gradient")
