"""Serialised Example and SequenceExample messages into tensors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from headrace.formats.dtypes import as_dtype
from headrace.formats.proto.example_pb2 import Example, SequenceExample
from headrace.kernels.reference.ops.parsing.parsing import array_of, invalid
from headrace.kernels.reference.precision import numpy_type
from headrace.kernels.reference.registry import Attrs, Compute, stateful_kernel

_FIELD = {"f": "float_list", "i": "int64_list", "O": "bytes_list"}


def _values(feature: Any, dtype: np.dtype, key: str, name: str) -> list[Any] | None:
    """What a Feature holds; None where it holds nothing.

    Raises: InvalidArgumentError for a feature of another type.
    """
    held = feature.WhichOneof("kind") if feature is not None else None
    if held is None:
        return None
    if held != _FIELD[dtype.kind]:
        raise invalid(
            f"Name: {name}, Key: {key}: Data types don't match. Expected type: "
            f"{as_dtype(dtype).name}, the feature has a {held}"
        )
    return list(getattr(feature, held).value)


def _parsed(message_type: Any, text: bytes, name: str) -> Any:
    try:
        return message_type.FromString(text)
    except DecodeError as error:
        raise invalid(f"{name}: could not parse example input: {error}") from error


class _Columns:
    """Collects the features of a batch of examples."""

    def __init__(self, features: Sequence[Any], names: Sequence[str]) -> None:
        self.features, self.names = features, names  # a map from key to Feature for each example

    def rows(self, key: str, dtype: np.dtype) -> list[list[Any] | None]:
        found = []
        for features, name in zip(self.features, self.names, strict=True):
            feature = features[key] if key in features else None
            found.append(_values(feature, dtype, key, name))
        return found

    def sparse(self, key: str, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows = [row or [] for row in self.rows(key, dtype)]
        indices = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
        shape = [len(rows), max((len(row) for row in rows), default=0)]
        return (
            np.array(indices, np.int64).reshape(-1, 2),
            array_of((v for row in rows for v in row), dtype),
            np.array(shape, np.int64),
        )

    def ragged(self, key: str, dtype: np.dtype, splits: np.dtype) -> tuple[np.ndarray, np.ndarray]:
        rows = [row or [] for row in self.rows(key, dtype)]
        ends = np.cumsum([0, *[len(row) for row in rows]]).astype(splits)
        return array_of((v for row in rows for v in row), dtype), ends

    def dense(self, key: str, default: np.ndarray, shape: Any, dtype: np.dtype) -> np.ndarray:
        rows = self.rows(key, dtype)
        variable = bool(shape) and shape[0] in (None, -1)
        inner = [int(n) for n in (shape[1:] if variable else shape)]
        size = int(np.prod(inner, dtype=np.int64))
        filled = []
        for row, name in zip(rows, self.names, strict=True):
            if row is None and not variable:
                if default.size == 0 and size:
                    raise invalid(
                        f"Name: {name}, Feature: {key} (data type: {as_dtype(dtype).name}) is "
                        "required but could not be found."
                    )
                row = np.broadcast_to(default, inner).ravel().tolist()
            row = row or []
            if len(row) % max(size, 1) if variable else len(row) != size:
                raise invalid(
                    f"Name: {name}, Key: {key}. Number of values does not match the shape: "
                    f"{len(row)} values, shape {list(shape)}"
                )
            filled.append(row)
        if not variable:
            return array_of((v for row in filled for v in row), dtype).reshape([len(rows), *inner])
        longest = max((len(row) // max(size, 1) for row in filled), default=0)
        padding = default.ravel()[0] if default.size else (b"" if dtype.kind == "O" else 0)
        result = np.full((len(rows), longest * size), padding, dtype)
        for target, row in zip(result, filled, strict=True):
            target[: len(row)] = array_of(row, dtype)
        return result.reshape([len(rows), longest, *inner])


def _keys(strings: Iterable[bytes]) -> list[str]:
    return [key.decode() for key in strings]


def _names(names: np.ndarray, count: int) -> list[str]:
    return _keys(names.ravel().tolist()) if names.size else ["<unknown>"] * count


def _example_columns(serialized: np.ndarray, names: np.ndarray) -> _Columns:
    texts = serialized.ravel().tolist()
    called = _names(names, len(texts))
    examples = [_parsed(Example, text, name) for text, name in zip(texts, called, strict=True)]
    return _Columns([example.features.feature for example in examples], called)


def _dense_of(
    attrs: Attrs, columns: _Columns, keys: list[str], defaults: Sequence[np.ndarray]
) -> list[np.ndarray]:
    for place, (default, shape) in enumerate(zip(defaults, attrs["dense_shapes"], strict=True)):
        # Without a default, or with one value that pads rows of any length, there is no shape.
        dims = [int(n) for n in shape]
        if dims[:1] != [-1] and default.size and list(default.shape) != dims:
            raise invalid(
                f"def_value[{place}].shape() == {list(default.shape)} is not compatible with "
                f"dense_shapes_[{place}] == {dims}"
            )
    return [
        columns.dense(key, default, shape, numpy_type(number))
        for key, default, shape, number in zip(
            keys, defaults, attrs["dense_shapes"], attrs["Tdense"], strict=True
        )
    ]


def _sparse_of(columns: _Columns, keys: list[str], numbers: Sequence[int]) -> list[np.ndarray]:
    found = [columns.sparse(k, numpy_type(n)) for k, n in zip(keys, numbers, strict=True)]
    return [part[which] for which in range(3) for part in found]


_NO_NAMES = np.empty(0, object)


def _agree(attrs: Attrs, pairs: Sequence[tuple[str, int, str]]) -> None:
    """Rejects lists of attributes that are not as long as the keys: (keys, how many, list)."""
    for keys, count, listed in pairs:
        if count != len(attrs[listed]):
            # TensorFlow's words name the list without the op's prefix T for a type.
            called = {"Tdense": "dense_types", "Tcontext_dense": "context_dense_types"}
            raise invalid(f"len({keys}) != len({called.get(listed, listed)})")


def _as_many(keys: str, found: int, wanted_name: str, requested: int) -> None:
    if found != requested:
        raise invalid(f"Expected len({keys}) == {wanted_name} but got: {found} vs. {requested}")


def _names_fit(names: np.ndarray, serialized: np.ndarray) -> None:
    if names.size and names.shape != serialized.shape:
        raise invalid(
            f"Expected names have the same shape as serialized: name.shape={_dims(names)}, "
            f"serialized.shape={_dims(serialized)}"
        )


def _dims(x: np.ndarray) -> str:
    return "[" + ",".join(map(str, x.shape)) + "]"


@stateful_kernel("ParseExample")
def parse_example(attrs: Attrs) -> Compute:
    _agree(
        attrs,
        [
            ("sparse_keys", attrs["Nsparse"], "sparse_types"),
            ("dense_keys", attrs["Ndense"], "Tdense"),
            ("dense_keys", attrs["Ndense"], "dense_shapes"),
        ],
    )
    return partial(_parse_example, attrs)


def _parse_example(attrs: Attrs, serialized: np.ndarray, names: np.ndarray, *rest: np.ndarray):  # type: ignore
    sparse, dense = attrs["Nsparse"], attrs["Ndense"]
    sparse_keys = _keys(key.item() for key in rest[:sparse])
    dense_keys = _keys(key.item() for key in rest[sparse : sparse + dense])
    _names_fit(names, serialized)
    columns = _example_columns(serialized, names)
    found = _sparse_of(columns, sparse_keys, attrs["sparse_types"])
    return found + _dense_of(attrs, columns, dense_keys, rest[sparse + dense :])


@stateful_kernel("ParseExampleV2")
def parse_example_v2(attrs: Attrs) -> Compute:
    _agree(
        attrs,
        [
            ("sparse_keys", attrs["num_sparse"], "sparse_types"),
            ("dense_keys", len(attrs["Tdense"]), "dense_shapes"),
            ("ragged_keys", len(attrs["ragged_value_types"]), "ragged_split_types"),
        ],
    )
    return partial(_parse_example_v2, attrs)


def _parse_example_v2(
    attrs: Attrs,
    serialized: np.ndarray,
    names: np.ndarray,
    sparse_keys: np.ndarray,
    dense_keys: np.ndarray,
    ragged_keys: np.ndarray,
    *defaults: np.ndarray,
) -> list[np.ndarray]:
    if serialized.ndim > 1:
        raise invalid(
            f"Expected serialized to be a scalar or vector, got shape: {_dims(serialized)}"
        )
    _as_many("sparse_keys", sparse_keys.size, "num_sparse", attrs["num_sparse"])
    _as_many("dense_keys", dense_keys.size, "len(dense_types)", len(attrs["Tdense"]))
    ragged_types = attrs["ragged_value_types"]
    _as_many("ragged_keys", ragged_keys.size, "len(ragged_value_types)", len(ragged_types))
    _names_fit(names, serialized)
    columns = _example_columns(serialized, names)
    found = _sparse_of(columns, _keys(sparse_keys.ravel().tolist()), attrs["sparse_types"])
    found += _dense_of(attrs, columns, _keys(dense_keys.ravel().tolist()), defaults)
    ragged = [
        columns.ragged(key, numpy_type(value), numpy_type(split))
        for key, value, split in zip(
            _keys(ragged_keys.ravel().tolist()),
            ragged_types,
            attrs["ragged_split_types"],
            strict=True,
        )
    ]
    found += [values for values, _ in ragged] + [splits for _, splits in ragged]
    if serialized.ndim == 0:  # one example, without a batch
        sparse, dense = attrs["num_sparse"], len(defaults)
        found[:sparse] = [indices[:, 1:] for indices in found[:sparse]]
        found[2 * sparse : 3 * sparse] = [shape[1:] for shape in found[2 * sparse : 3 * sparse]]
        found[3 * sparse : 3 * sparse + dense] = [
            np.asarray(values[0], values.dtype) for values in found[3 * sparse : 3 * sparse + dense]
        ]
    return found


@stateful_kernel("ParseSingleExample")
def parse_single_example(attrs: Attrs) -> Compute:
    sparse, dense = attrs["num_sparse"], len(attrs["dense_keys"])
    keys, types = len(attrs["sparse_keys"]), len(attrs["sparse_types"])
    if not sparse == keys == types:
        raise invalid(
            f"num_sparse ({sparse}) must match the size of sparse_keys ({keys}) and sparse_types "
            f"({types})"
        )
    _agree(attrs, [("dense_keys", dense, "Tdense"), ("dense_keys", dense, "dense_shapes")])
    return partial(_parse_single_example, attrs)


def _parse_single_example(
    attrs: Attrs, serialized: np.ndarray, *defaults: np.ndarray
) -> list[np.ndarray]:
    columns = _example_columns(serialized, _NO_NAMES)
    found = _sparse_of(columns, _keys(attrs["sparse_keys"]), attrs["sparse_types"])
    count = attrs["num_sparse"]
    found[:count] = [indices[:, 1:] for indices in found[:count]]
    found[2 * count :] = [shape[1:] for shape in found[2 * count :]]
    dense = _dense_of(attrs, columns, _keys(attrs["dense_keys"]), defaults)
    return found + [np.asarray(values[0], values.dtype) for values in dense]


@stateful_kernel("ParseSingleSequenceExample")
def parse_single_sequence_example(attrs: Attrs) -> Compute:
    pairs = []
    for prefix, dense_types in (
        ("context", "Tcontext_dense"),
        ("feature_list", "feature_list_dense_types"),
    ):
        sparse, dense = attrs[f"N{prefix}_sparse"], attrs[f"N{prefix}_dense"]
        pairs += [
            (f"{prefix}_sparse_keys", sparse, f"{prefix}_sparse_types"),
            (f"{prefix}_dense_keys", dense, dense_types),
            (f"{prefix}_dense_keys", dense, f"{prefix}_dense_shapes"),
        ]
    _agree(attrs, pairs)
    return partial(_parse_single_sequence_example, attrs)


def _parse_single_sequence_example(
    attrs: Attrs, serialized: np.ndarray, missing_is_empty: np.ndarray, *rest: np.ndarray
) -> list[np.ndarray]:
    left = list(rest)

    def keys(count: int) -> list[str]:
        return _keys(left.pop(0).item() for _ in range(count))

    context_sparse = keys(attrs["Ncontext_sparse"])
    context_dense = keys(attrs["Ncontext_dense"])
    list_sparse = keys(attrs["Nfeature_list_sparse"])
    list_dense = keys(attrs["Nfeature_list_dense"])
    *defaults, debug_name = left
    name = debug_name.item().decode() if debug_name.size else "<unknown>"
    example = _parsed(SequenceExample, serialized.item(), name)
    columns = _Columns([example.context.feature], [name])
    found = _sparse_of(columns, context_sparse, attrs["context_sparse_types"])
    count = len(context_sparse)
    found[:count] = [indices[:, 1:] for indices in found[:count]]
    found[2 * count :] = [shape[1:] for shape in found[2 * count :]]
    for key, default, shape, number in zip(
        context_dense,
        defaults,
        attrs["context_dense_shapes"],
        attrs["Tcontext_dense"],
        strict=True,
    ):
        values = columns.dense(key, default, shape, numpy_type(number))
        found.append(np.asarray(values[0], values.dtype))
    lists = example.feature_lists.feature_list

    def steps(key: str, dtype: np.dtype) -> list[list[Any]]:
        features = lists[key].feature if key in lists else []
        return [_values(feature, dtype, key, name) or [] for feature in features]

    sparse = []
    for key, number in zip(list_sparse, attrs["feature_list_sparse_types"], strict=True):
        rows = steps(key, numpy_type(number))
        indices = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
        shape = [len(rows), max((len(row) for row in rows), default=0)]
        sparse.append(
            (
                np.array(indices, np.int64).reshape(-1, 2),
                array_of((v for row in rows for v in row), numpy_type(number)),
                np.array(shape, np.int64),
            )
        )
    found += [part[which] for which in range(3) for part in sparse]
    may_miss = set(_keys(missing_is_empty.ravel().tolist()))
    for key, shape, number in zip(
        list_dense,
        attrs["feature_list_dense_shapes"],
        attrs["feature_list_dense_types"],
        strict=True,
    ):
        if key not in lists and key not in may_miss:
            raise invalid(
                f"Name: {name}, Feature list '{key}' is required but could not be found. Did you "
                "mean to include it in feature_list_dense_missing_assumed_empty or "
                "feature_list_dense_defaults?"
            )
        rows = steps(key, numpy_type(number))
        inner = [int(n) for n in shape]
        size = int(np.prod(inner, dtype=np.int64))
        if any(len(row) != size for row in rows):
            raise invalid(
                f"Name: {name}, Key: {key}: number of values does not match the shape {inner}: "
                f"{[len(row) for row in rows]}"
            )
        flat = array_of((v for row in rows for v in row), numpy_type(number))
        found.append(flat.reshape([len(rows), *inner]))
    return found
