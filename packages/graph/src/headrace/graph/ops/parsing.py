"""Parsing of Example messages, CSV, raw bytes and serialized tensors."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.formats import op_catalogue
from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import SparseTensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.op_registry import no_gradient
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.framework.tensor_shape import as_dims
from headrace.graph.ops.sparse.sparse import sparse_of
from headrace.graph.typing.aliases import DTypeLike, TensorLike

# ---- raw bytes -----------------------------------------------------------------------------


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


# ---- examples ------------------------------------------------------------------------------


class VarLenFeature(namedtuple("VarLenFeature", ["dtype"])):
    """A feature of variable length, parsed to a SparseTensor [batch, maximum length]."""


class FixedLenFeature(namedtuple("FixedLenFeature", ["shape", "dtype", "default_value"])):
    """A feature of fixed shape, parsed to a Tensor [batch, shape...].

    Args:
      shape: shape of the feature.
      dtype: dtype of the values.
      default_value: value for examples without the feature; None makes it required.
    """

    def __new__(cls, shape: Any, dtype: Any, default_value: Any = None) -> FixedLenFeature:
        return super().__new__(cls, shape, dtype, default_value)


class FixedLenSequenceFeature(
    namedtuple("FixedLenSequenceFeature", ["shape", "dtype", "allow_missing", "default_value"])
):
    """A sequence of items of fixed shape, parsed to a Tensor [batch, maximum length, shape...].

    Args:
      shape: shape of an item.
      dtype: dtype of the values.
      allow_missing: must be True for an Example.
      default_value: padding of shorter sequences.
    """

    def __new__(
        cls, shape: Any, dtype: Any, allow_missing: bool = False, default_value: Any = None
    ) -> FixedLenSequenceFeature:
        return super().__new__(cls, shape, dtype, allow_missing, default_value)


class SparseFeature(
    namedtuple("SparseFeature", ["index_key", "value_key", "dtype", "size", "already_sorted"])
):
    """Features with indices and values, parsed to one SparseTensor [batch, size].

    Args:
      index_key: key of the int64 indices, or a list of keys.
      value_key: key of the values.
      dtype: dtype of the values.
      size: size of the dimension, or a list of sizes.
      already_sorted: whether the indices are ascending.
    """

    def __new__(
        cls, index_key: Any, value_key: Any, dtype: Any, size: Any, already_sorted: bool = False
    ) -> SparseFeature:
        return super().__new__(cls, index_key, value_key, dtype, size, already_sorted)


class _FeaturePlan:
    """Converts a dict of features to the op's arguments, and the op's outputs to the result."""

    def __init__(self, features: Any) -> None:
        if not features:
            raise ValueError("Missing: features was not given, or is empty.")
        self.features = features
        self.sparse: dict[str, Any] = {}
        self.dense: dict[str, tuple[Any, list[Any], Any]] = {}
        for key in sorted(features):
            self._add_feature(key, features[key])

    def _add_feature(self, key: str, feature: Any) -> None:
        if isinstance(feature, VarLenFeature):
            self._sparse(key, feature.dtype)
        elif isinstance(feature, SparseFeature):
            keys = feature.index_key
            for index_key in [keys] if isinstance(keys, str) else keys:
                self._sparse(index_key, "int64")
            self._sparse(feature.value_key, feature.dtype)
        elif isinstance(feature, FixedLenFeature):
            if feature.dtype is None or feature.shape is None:
                raise ValueError(f"Missing dtype or shape for feature {key}.")
            self.dense[key] = _dense(key, feature.dtype, feature.shape, feature.default_value)
        elif isinstance(feature, FixedLenSequenceFeature):
            if not feature.allow_missing:
                raise ValueError(
                    f"Unsupported: FixedLenSequenceFeature requires allow_missing to be True: {key}"
                )
            shape = [-1, *(as_dims(feature.shape) or ())]
            default = feature.default_value
            if default is None:
                default = "" if as_dtype(feature.dtype).name == "string" else 0
            fill = convert_to_tensor(default, dtype=as_dtype(feature.dtype))
            self.dense[key] = (as_dtype(feature.dtype), shape, fill)
        else:
            raise ValueError(f"Invalid feature {key}: {feature!r}.")

    def _sparse(self, key: str, dtype: Any) -> None:
        if dtype is None:
            raise ValueError(f"Missing type for feature {key}.")
        dtype = as_dtype(dtype)
        if self.sparse.setdefault(key, dtype) != dtype:
            raise ValueError(
                f"Conflicting type {dtype.name} vs {self.sparse[key].name} for feature {key}."
            )

    def result(self, sparse: list[SparseTensor], dense: list[Tensor]) -> dict[str, Any]:
        """Returns the parsed features by the caller's keys."""
        found: dict[str, Any] = dict(zip(self.sparse, sparse, strict=True))
        found.update(zip(self.dense, dense, strict=True))
        created = {}
        for key, feature in self.features.items():
            if isinstance(feature, SparseFeature):
                created[key] = _merged(feature, found)
            else:
                created[key] = found[key]
        return created


def _dense(key: str, dtype: Any, shape: Any, default: Any) -> tuple[Any, list[Any], Any]:
    dims = as_dims(shape)
    if dims is None or None in dims:
        raise ValueError(f"The shape of feature {key} must be known, is {shape}")
    dtype = as_dtype(dtype)
    if default is None:
        fill = convert_to_tensor([], dtype=dtype)  # required
    else:
        fill = op("Reshape", convert_to_tensor(default, dtype=dtype), list(dims) or _scalar())
    return dtype, [d for d in dims if d is not None], fill


def _scalar() -> Tensor:
    return convert_to_tensor([], dtype="int32")


def _merged(feature: SparseFeature, found: dict[str, Any]) -> SparseTensor:
    from headrace.graph.ops.sparse.layout import merge

    keys, sizes = feature.index_key, feature.size
    values = found[feature.value_key]
    if isinstance(keys, str):
        return merge(found[keys], values, sizes, already_sorted=feature.already_sorted)
    return merge(
        [found[k] for k in keys], values, list(sizes), already_sorted=feature.already_sorted
    )


def parse_example(
    serialized: TensorLike,
    features: Mapping[str, Any],
    name: str | None = None,
    example_names: TensorLike | None = None,
) -> dict[str, Any]:
    """Parses a batch of serialized Example messages.

    Args:
      serialized: [batch] string.
      features: dict from keys to FixedLenFeature, VarLenFeature, SparseFeature or
        FixedLenSequenceFeature.
      example_names: [batch] string, used in error messages.
    Returns: dict from keys to Tensors and SparseTensors.
    Raises: ValueError for missing or invalid features.
    """
    plan = _FeaturePlan(features)
    with name_scope(name or "ParseExample"):
        batch = convert_to_tensor(serialized, dtype="string", name="serialized")
        names: Any = [] if example_names is None else example_names
        outputs = op(
            "ParseExample",
            batch,
            convert_to_tensor(names, dtype="string", name="names"),
            _keys(plan.sparse),
            _keys(plan.dense),
            [fill for _, _, fill in plan.dense.values()],
            sparse_types=list(plan.sparse.values()),
            dense_shapes=_shapes(plan),
        )
        return plan.result(*_parts(outputs, 2))


def parse_single_example(
    serialized: TensorLike,
    features: Mapping[str, Any],
    name: str | None = None,
    example_names: TensorLike | None = None,
) -> dict[str, Any]:
    """Parses one Example: serialized is a scalar, and results have no batch dimension.

    Raises: as parse_example.
    """
    plan = _FeaturePlan(features)
    with name_scope(name or "ParseSingleExample"):
        one = convert_to_tensor(serialized, dtype="string", name="serialized")
        outputs = op(
            "ParseSingleExample",
            one,
            [fill for _, _, fill in plan.dense.values()],
            num_sparse=len(plan.sparse),
            sparse_keys=list(plan.sparse),
            dense_keys=list(plan.dense),
            sparse_types=list(plan.sparse.values()),
            dense_shapes=_shapes(plan),
        )
        return plan.result(*_parts(outputs, 1))


def _keys(keys: Any) -> list[Tensor]:
    return [convert_to_tensor(key, dtype="string") for key in keys]


def _shapes(plan: _FeaturePlan) -> list[Any]:
    return [[None if d == -1 else d for d in shape] for _, shape, _ in plan.dense.values()]


def _parts(outputs: Any, rank: int) -> tuple[list[SparseTensor], list[Tensor]]:
    indices, values, shapes, dense = outputs
    sparse = [sparse_of(part, rank) for part in zip(indices, values, shapes, strict=True)]
    return sparse, list(dense)


def parse_single_sequence_example(
    serialized: TensorLike,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_name: TensorLike | None = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parses one serialized SequenceExample message.

    Args:
      serialized: [] string.
      context_features: dict from keys to FixedLenFeature or VarLenFeature.
      sequence_features: dict from keys to FixedLenSequenceFeature (parsed to [length, shape...]) or
        VarLenFeature (parsed to a SparseTensor [length, maximum length]).
      example_name: [] string, used in error messages.
    Returns: (dict of context features, dict of sequence features).
    Raises: ValueError if both are missing, or for an unsupported feature.
    """
    if not context_features and not sequence_features:
        raise ValueError("Missing features: give context_features or sequence_features.")
    with name_scope(name or "ParseSingleSequenceExample"):
        context = _FeaturePlan(context_features) if context_features else None
        lists = sequence_features or {}
        sparse = {k: as_dtype(lists[k].dtype) for k in sorted(lists)
                  if isinstance(lists[k], VarLenFeature)}  # fmt: skip
        dense = {k: lists[k] for k in sorted(lists)
                 if isinstance(lists[k], FixedLenSequenceFeature)}  # fmt: skip
        other = [k for k in lists if k not in sparse and k not in dense]
        if other:
            raise ValueError(f"Unsupported kind of sequence feature: {other}")
        missing = [k for k, f in dense.items() if f.allow_missing]
        outputs = op(
            "ParseSingleSequenceExample",
            convert_to_tensor(serialized, dtype="string", name="serialized"),
            convert_to_tensor(missing, dtype="string"),
            _keys(context.sparse if context else ()),
            _keys(context.dense if context else ()),
            _keys(sparse),
            _keys(dense),
            [fill for _, _, fill in context.dense.values()] if context else [],
            convert_to_tensor("" if example_name is None else example_name, dtype="string"),
            context_sparse_types=list(context.sparse.values()) if context else [],
            context_dense_shapes=_shapes(context) if context else [],
            feature_list_sparse_types=list(sparse.values()),
            feature_list_dense_types=[as_dtype(f.dtype) for f in dense.values()],
            feature_list_dense_shapes=[as_dims(f.shape) for f in dense.values()],
        )
        of_context = context.result(*_parts(outputs[:4], 1)) if context else {}
        for key, (_, shape, _fill) in context.dense.items() if context else ():
            of_context[key].set_shape(shape)
        found_sparse, found_dense = _parts(outputs[4:], 2)
        for part, feature in zip(found_dense, dense.values(), strict=True):
            part.set_shape([None, *(as_dims(feature.shape) or ())])
        of_lists: dict[str, Any] = dict(zip(sparse, found_sparse, strict=True))
        of_lists.update(zip(dense, found_dense, strict=True))
        return of_context, of_lists


for _op_type in op_catalogue.names():
    if op_catalogue.family(_op_type) == "parsing":
        no_gradient(_op_type, "bytes have no gradient")
