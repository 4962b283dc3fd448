"""Tables that give keys which they lack the number of a hash bucket."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from functools import partial
from typing import Any

from headrace.formats.dtypes import DType, as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.control_flow.control_flow_ops import no_op
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.lookup.initializers import TableInitializerBase
from headrace.graph.lookup.tables import LookupInterface, StaticHashTable, values_of, with_values
from headrace.graph.ops import strings
from headrace.graph.ops.elementwise.elementwise import add, cast, not_equal, where_v2
from headrace.graph.typing.aliases import DTypeLike

_STRING, _INT64 = as_dtype("string"), as_dtype("int64")


class HasherSpec(namedtuple("HasherSpec", ["hasher", "key"])):
    """A hash function for buckets.

    Args:
      hasher: "fasthash", "legacy" or "stronghash".
      key: key of "stronghash", two integers.
    """

    __slots__ = ()


FastHashSpec = HasherSpec("fasthash", None)


class StrongHashSpec(HasherSpec):
    """A keyed hash function, which is harder to attack.

    Args:
      key: two integers.
    Raises: ValueError for another number, TypeError for other values.
    """

    __slots__ = ()

    def __new__(cls, key: Sequence[int]) -> StrongHashSpec:
        if len(key) != 2:
            raise ValueError(f"key must have size 2, got {len(key)}.")
        if not all(isinstance(part, int) for part in key):
            raise TypeError(f"Invalid key {key}. Must be unsigned integer values.")
        return super().__new__(cls, "stronghash", key)


def _hash_function(spec: HasherSpec) -> Any:
    if not isinstance(spec, HasherSpec):
        raise TypeError(f"hasher_spec must be of type HasherSpec, got {spec!r}")
    if spec.hasher == "fasthash":
        return strings.to_hash_bucket_fast
    if spec.hasher == "legacy":
        return strings.to_hash_bucket
    if spec.hasher == "stronghash":
        return partial(strings.to_hash_bucket_strong, key=spec.key)
    raise ValueError(f"Unknown hasher {spec.hasher}")


def _check_dtypes(source: Any, key_dtype: DType) -> None:
    """Checks the dtypes of a table, or of an initializer, and of the keys that are looked up."""
    if source is not None:
        if source.key_dtype not in (_INT64, _STRING):
            raise TypeError(
                f"Invalid key dtype, expected one of {(_INT64, _STRING)}, but got {key_dtype}."
            )
        if source.key_dtype.is_integer != key_dtype.is_integer:
            expected = "integer" if key_dtype.is_integer else "non-integer"
            raise TypeError(f"Invalid key dtype, expected {expected} but got {source.key_dtype}.")
        if source.value_dtype != _INT64:
            raise TypeError(f"Invalid value dtype, expected {_INT64} but got {source.value_dtype}.")
    if not key_dtype.is_integer and key_dtype != _STRING:
        raise TypeError(f"Invalid key_dtype, expected integer or string, got {key_dtype}.")


class IdTableWithHashBuckets(LookupInterface):
    """A table of ids that gives keys which another table lacks the numbers behind its size.

    Args:
      table: table from strings or int64 to int64; None: all keys are hashed.
      num_oov_buckets: number of buckets for keys that the table lacks.
      hasher_spec: hash function.
      key_dtype: dtype of looked up keys; by default that of the table, or string.
    Raises: ValueError if there are neither a table nor buckets; TypeError for dtypes that do not
      fit, or another hasher_spec.
    """

    def __init__(
        self,
        table: Any,
        num_oov_buckets: int,
        hasher_spec: HasherSpec = FastHashSpec,
        name: str | None = None,
        key_dtype: DTypeLike | None = None,
    ) -> None:
        if table is None and num_oov_buckets <= 0:
            raise ValueError("oov_buckets must be > 0 if no table is supplied.")
        own = _STRING if table is None else table.key_dtype
        dtype = own if key_dtype is None else as_dtype(key_dtype)
        _check_dtypes(table, dtype)
        self._hash = _hash_function(hasher_spec)
        self._table = table
        self._num_oov_buckets = num_oov_buckets
        called = name.rstrip("/") if name else None
        called = called or ("hash_bucket" if table is None else table.name)
        self._table_name = called.split("/")[-1] if called else None
        super().__init__(dtype, _INT64)

    @property
    def resource_handle(self) -> Any:
        """The handle of the table; None without one."""
        return None if self._table is None else self._table.resource_handle

    @property
    def initializer(self) -> Operation:
        """The operation that initialises the table."""
        if self._table is not None:
            return self._table.initializer
        with name_scope(None, "init"):
            return no_op()

    init = initializer

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of ids, with those of the buckets, [] int64."""
        with name_scope(name, f"{self.name}_Size"):
            rows = convert_to_tensor(0, dtype=_INT64) if self._table is None else self._table.size()
            return add(rows, convert_to_tensor(self._num_oov_buckets, dtype=_INT64))

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Returns the ids of keys, in the form of keys. Raises: TypeError for another dtype."""
        values = values_of(keys)
        self._check_keys(values)
        if self._table is not None and self._table.key_dtype == _INT64:
            values = cast(values, _INT64)
        if self._num_oov_buckets == 0:
            return with_values(keys, self._table.lookup(values, name=name))
        with name_scope(name, f"{self.name}_Lookup"):
            text = values if values.dtype.base_dtype == _STRING else strings.as_string(values)
            ids = self._hash(text, num_buckets=self._num_oov_buckets, name="hash_bucket")
            if self._table is not None:
                found = self._table.lookup(values)
                buckets = add(ids, self._table.size())
                ids = where_v2(not_equal(found, self._table.default_value), found, buckets)
        return with_values(keys, ids)


class StaticVocabularyTable(IdTableWithHashBuckets):
    """A table of ids with hash buckets for the keys that its initializer lacks.

    Args:
      initializer: TableInitializerBase from strings or int64 to int64; None: all keys are hashed.
      num_oov_buckets: number of buckets, at least 1.
      lookup_key_dtype: dtype of looked up keys; by default that of the initializer, or string.
    Raises: ValueError without buckets; TypeError for dtypes that do not fit.
    """

    def __init__(
        self,
        initializer: TableInitializerBase | None,
        num_oov_buckets: int,
        lookup_key_dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        if num_oov_buckets <= 0:
            raise ValueError("oov_buckets must be > 0.")
        table = None
        dtype = _STRING
        if initializer is not None:
            dtype = as_dtype(lookup_key_dtype or initializer.key_dtype)
            _check_dtypes(initializer, dtype)
            table = StaticHashTable(initializer, default_value=-1)
        super().__init__(table, num_oov_buckets, name=name, key_dtype=dtype)
