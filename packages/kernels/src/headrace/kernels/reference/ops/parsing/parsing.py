"""Records of bytes into tensors."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from google.protobuf import json_format

from headrace.formats.dtypes import as_dtype
from headrace.formats.errors import DataLossError, InvalidArgumentError
from headrace.formats.proto.example_pb2 import Example
from headrace.formats.proto.tensor_pb2 import TensorProto
from headrace.formats.tensor_codec import make_ndarray, make_tensor_proto
from headrace.kernels.reference.ops.strings import parsed_number
from headrace.kernels.reference.precision import numpy_type
from headrace.kernels.reference.registry import Attrs, kernel


def invalid(text: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, text)


def array_of(values: Iterable[Any], dtype: np.dtype) -> np.ndarray:
    listed = list(values)
    result = np.empty(len(listed), dtype)
    result[:] = listed
    return result


# ---- raw bytes ----


@kernel("DecodeRaw")
def decode_raw(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    dtype = numpy_type(attrs["out_type"])
    lengths = {len(text) for text in x.ravel().tolist()}
    if len(lengths) > 1:
        raise invalid(
            f"DecodeRaw requires input strings to all be the same size: {sorted(lengths)}"
        )
    size = lengths.pop() if lengths else 0
    if size % dtype.itemsize:
        raise invalid(
            f"Input to DecodeRaw has length {size} that is not a multiple of {dtype.itemsize}, the "
            f"size of {as_dtype(dtype).name}"
        )
    return _from_bytes(attrs, b"".join(x.ravel().tolist()), dtype).reshape(
        x.shape + (size // dtype.itemsize,)
    )


@kernel("DecodePaddedRaw")
def decode_padded_raw(attrs: Attrs, x: np.ndarray, length: np.ndarray) -> np.ndarray:
    dtype, size = numpy_type(attrs["out_type"]), int(length)
    if size <= 0 or size % dtype.itemsize:
        raise invalid(f"fixed_length ({size}) must be a multiple of the size of {dtype}")
    padded = b"".join(text[:size].ljust(size, b"\0") for text in x.ravel().tolist())
    return _from_bytes(attrs, padded, dtype).reshape(x.shape + (size // dtype.itemsize,))


def _from_bytes(attrs: Attrs, data: bytes, dtype: np.dtype) -> np.ndarray:
    values = np.frombuffer(data, dtype)
    return values.copy() if attrs["little_endian"] else values.byteswap()


@kernel("DecodeCompressed")
def decode_compressed(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    kinds = {b"": lambda text: text, b"ZLIB": zlib.decompress, b"GZIP": gzip.decompress}
    if attrs["compression_type"] not in kinds:
        raise invalid(f"compression {attrs['compression_type'].decode()!r} is not ZLIB or GZIP")
    try:
        texts = [kinds[attrs["compression_type"]](text) for text in x.ravel().tolist()]
    except (zlib.error, EOFError, OSError) as error:
        raise DataLossError(None, None, f"DecodeCompressed: {error}") from error
    return array_of(texts, np.dtype(object)).reshape(x.shape)


# ---- tensors ----


@kernel("ParseTensor")
def parse_tensor(attrs: Attrs, text: np.ndarray) -> np.ndarray:
    try:
        message = TensorProto.FromString(text.item())
    except Exception as error:  # protobuf's DecodeError has no home that all versions share
        raise invalid(f"Could not parse `serialized` as TensorProto: {error}") from error
    if message.dtype != attrs["out_type"]:
        raise invalid(
            f"Type mismatch between parsed tensor ({as_dtype(message.dtype).name}) and dtype "
            f"({as_dtype(attrs['out_type']).name})"
        )
    return make_ndarray(message)


@kernel("SerializeTensor")
def serialize_tensor(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return np.array(make_tensor_proto(x, as_dtype(attrs["T"])).SerializeToString(), object)


@kernel("DecodeJSONExample")
def decode_json_example(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    def decoded(text: bytes) -> bytes:
        try:
            return json_format.Parse(text, Example()).SerializeToString()
        except json_format.ParseError as error:
            raise invalid(f"Error while parsing JSON: {error}") from error

    return array_of(map(decoded, x.ravel().tolist()), np.dtype(object)).reshape(x.shape)


# ---- comma-separated values ----


@kernel("DecodeCSV")
def decode_csv(attrs: Attrs, records: np.ndarray, *defaults: np.ndarray) -> list[np.ndarray]:
    dtypes = [numpy_type(number) for number in attrs["OUT_TYPE"]]
    for place, default in enumerate(defaults):
        if default.size > 1:
            raise invalid(
                f"There should only be 1 default per field but field {place} has {default.size}"
            )
    columns: list[list[Any]] = [[] for _ in dtypes]
    chosen = attrs["select_cols"]
    for number, record in enumerate(records.ravel().tolist()):
        fields = _fields(attrs, record)
        if chosen:
            fields = [fields[c] for c in chosen if c < len(fields)]
        if len(fields) != len(dtypes):
            raise invalid(f"Expect {len(dtypes)} fields but have {len(fields)} in record {number}")
        for place, (field, dtype, default) in enumerate(zip(fields, dtypes, defaults, strict=True)):
            if field == b"" or field == attrs["na_value"]:
                if default.size == 0:
                    raise invalid(f"Field {place} is required but missing in record {number}!")
                columns[place].append(default.ravel()[0])
            elif dtype.kind == "O":
                columns[place].append(field)
            else:
                try:
                    columns[place].append(parsed_number(field, dtype))
                except InvalidArgumentError:
                    raise invalid(
                        f"Field {place} in record {number} is not a valid {as_dtype(dtype).name}: "
                        f"{field.decode(errors='replace')}"
                    ) from None
    return [
        array_of(column, dtype).reshape(records.shape)
        for column, dtype in zip(columns, dtypes, strict=True)
    ]


def _fields(attrs: Attrs, record: bytes) -> list[bytes]:
    text = record.rstrip(b"\r\n").decode("latin-1")
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if attrs["use_quote_delim"] else csv.QUOTE_NONE
    delimiter = attrs["field_delim"].decode("latin-1")
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quoting=quoting))
    return [field.encode("latin-1") for field in (rows[0] if rows else [""])]
