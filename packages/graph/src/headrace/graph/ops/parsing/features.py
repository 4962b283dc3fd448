"""What parse functions look for in Examples: features, and their checks."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.formats.dtypes import DType, as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import SparseTensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.tensor_shape import as_dims
from headrace.graph.ops.sparse.sparse import sparse_of


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


class FeaturePlan:
    """Converts a dict of features to the arguments of an op, and its outputs to the result.

    Args:
      features: dict from keys to features.
      allowed: classes of features that are supported.
      sequences_may_lack: whether a FixedLenSequenceFeature needs allow_missing.
    Raises: ValueError for features that are missing, unsupported or incomplete.
    """

    def __init__(self, features: Any, allowed: tuple[type, ...], is_list: bool = False) -> None:
        self.features: Mapping[str, Any] = features or {}
        self.is_list = is_list
        self.sparse: dict[str, DType] = {}
        self.dense: dict[str, tuple[DType, list[Any], Any]] = {}
        for key in sorted(self.features):
            feature = self.features[key]
            if not isinstance(feature, allowed):
                kind = type(feature).__name__
                raise ValueError(f"Unsupported {kind} {feature}.")
            self._add(key, feature)

    def _add(self, key: str, feature: Any) -> None:
        if isinstance(feature, VarLenFeature):
            self._add_sparse(key, feature.dtype)
        elif isinstance(feature, SparseFeature):
            self._add_parts_of_sparse(feature)
        elif isinstance(feature, FixedLenFeature):
            self._add_dense(key, feature)
        else:
            self._add_sequence(key, feature)

    def _add_sparse(self, key: str, dtype: Any) -> None:
        if not dtype:
            raise ValueError(f"Missing type for feature {key}.")
        dtype = as_dtype(dtype)
        if self.sparse.setdefault(key, dtype) != dtype:
            raise ValueError(f"Conflicting type {self.sparse[key]} vs {dtype} for feature {key}.")

    def _add_parts_of_sparse(self, feature: SparseFeature) -> None:
        for part, value in (
            ("index_key", feature.index_key), ("value_key", feature.value_key)
        ):  # fmt: skip
            if not value:
                raise ValueError(f"Missing {part} for SparseFeature {feature}.")
        if not feature.dtype:
            raise ValueError(f"Missing type for feature {feature.value_key}.")
        keys, sizes = index_keys(feature)
        if len(keys) != len(sizes):
            raise ValueError(
                f"SparseFeature {feature} has {len(keys)} index keys and {len(sizes)} sizes."
            )
        for key in sorted(keys):
            self._add_sparse(key, "int64")
        self._add_sparse(feature.value_key, feature.dtype)

    def _add_dense(self, key: str, feature: FixedLenFeature) -> None:
        dtype, dims = _dtype_and_dims(key, feature)
        if None in dims:
            raise ValueError(
                f"All dimensions of shape for feature {key} need to be known "
                f"but received {feature.shape}."
            )
        if feature.default_value is None:
            fill = convert_to_tensor([], dtype=dtype, name=f"{_node_name(key)}_default")  # required
        else:
            value = convert_to_tensor(feature.default_value, dtype=dtype)
            shape = list(dims) or convert_to_tensor([], dtype="int32")
            fill = op("Reshape", value, shape, name=f"key_{_node_name(key)}")
        self.dense[key] = (dtype, list(dims), fill)

    def _add_sequence(self, key: str, feature: FixedLenSequenceFeature) -> None:
        dtype, dims = _dtype_and_dims(key, feature)
        if self.is_list:
            self.dense[key] = (dtype, list(dims), None)
            return
        if not feature.allow_missing:
            raise ValueError(
                "Unsupported: FixedLenSequenceFeature requires allow_missing to be True."
            )
        default = feature.default_value
        if default is None:
            default = "" if dtype.name == "string" else 0
        self.dense[key] = (dtype, [-1, *dims], convert_to_tensor(default, dtype=dtype))

    @property
    def may_lack(self) -> list[str]:
        """The keys of sequences that messages may lack."""
        return [key for key in self.dense if self.features[key].allow_missing]

    @property
    def types(self) -> list[DType]:
        """The dtypes of the dense features."""
        return [dtype for dtype, _, _ in self.dense.values()]

    @property
    def shapes(self) -> list[Any]:
        """The shapes of the dense features; None for a variable size."""
        return [[None if d == -1 else d for d in dims] for _, dims, _ in self.dense.values()]

    @property
    def defaults(self) -> list[Tensor]:
        """The default values of the dense features; empty vectors for required ones."""
        return [fill for _, _, fill in self.dense.values()]

    def result(self, outputs: Sequence[Any], rank: int) -> dict[str, Any]:
        """Returns the parsed features by the keys of the features.

        Args:
          outputs: lists of sparse indices, values and shapes, and of dense values.
          rank: rank of the sparse tensors.
        """
        *sparse, dense = outputs
        found: dict[str, Any] = {
            key: sparse_of(parts, rank)
            for key, parts in zip(self.sparse, zip(*sparse, strict=True), strict=True)
        }
        found.update(zip(self.dense, dense, strict=True))
        return {
            key: _merged(feature, found) if isinstance(feature, SparseFeature) else found[key]
            for key, feature in self.features.items()
        }


def _node_name(key: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in key)


def _dtype_and_dims(key: str, feature: Any) -> tuple[DType, tuple[Any, ...]]:
    if not feature.dtype:
        raise ValueError(f"Missing type for feature {key}.")
    if feature.shape is None:
        raise ValueError(f"Missing shape for feature {key}.")
    dims = as_dims(feature.shape)
    if dims is None:
        raise ValueError(f"Missing shape for feature {key}: its rank is unknown.")
    if dims and dims[0] is None:
        raise ValueError(
            f"First dimension of shape for feature {key} unknown. "
            "Consider using FixedLenSequenceFeature."
        )
    return as_dtype(feature.dtype), dims


def index_keys(feature: SparseFeature) -> tuple[list[str], list[Any]]:
    """Returns the index keys and the sizes of a SparseFeature, each in a list."""
    if isinstance(feature.index_key, str):
        return [feature.index_key], [feature.size]
    return list(feature.index_key), list(feature.size)


def _merged(feature: SparseFeature, found: dict[str, Any]) -> SparseTensor:
    from headrace.graph.ops.sparse.layout import merge

    values = found[feature.value_key]
    # TensorFlow 1.15 merges the parts with fewer nodes.
    count_nodes(-6 - len(index_keys(feature)[0]))
    if isinstance(feature.index_key, str):
        return merge(
            found[feature.index_key], values, feature.size, already_sorted=feature.already_sorted
        )
    keys, sizes = index_keys(feature)
    return merge([found[k] for k in keys], values, sizes, already_sorted=feature.already_sorted)


def keys_of(plan: Mapping[str, Any]) -> list[Tensor]:
    """Returns keys as a list of scalars."""
    return [convert_to_tensor(key, dtype="string") for key in plan]
