"""Lookup tables that are filled once, by their initializers."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import SparseTensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import init_scope, name_scope
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.lookup.initializers import TableInitializerBase
from headrace.graph.typing.aliases import DTypeLike, TensorLike


class LookupInterface:
    """Base class of lookup tables.

    Args:
      key_dtype, value_dtype: dtypes of the table.
    """

    _resource_handle: Any = None
    _table_name: str | None = None

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike) -> None:
        self._key_dtype = as_dtype(key_dtype)
        self._value_dtype = as_dtype(value_dtype)

    key_dtype = property(lambda self: self._key_dtype, doc="The dtype of the keys.")
    value_dtype = property(lambda self: self._value_dtype, doc="The dtype of the values.")

    @property
    def name(self) -> str | None:
        """The name of the table's node, without scopes."""
        return self._table_name

    @property
    def resource_handle(self) -> Any:
        """The handle's tensor."""
        return self._resource_handle

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of rows, [] int64."""
        with name_scope(name, f"{self.name}_Size", [self.resource_handle]):
            return op("LookupTableSizeV2", self.resource_handle)

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Returns the values of keys. Subclasses override it."""
        raise NotImplementedError("Calling an abstract method.")

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)

    def _check_keys(self, keys: Any) -> None:
        if keys.dtype.base_dtype != self._key_dtype:
            raise TypeError(
                f"Signature mismatch. Keys must be dtype {self._key_dtype}, got {keys.dtype}."
            )

    def _set_handle(self, handle: Tensor) -> None:
        self._resource_handle = handle
        self._table_name = handle.op.name.rpartition("/")[2]


def with_values(keys: Any, values: Tensor) -> Any:
    """Returns values in the form of keys: a SparseTensor with its indices, or the tensor."""
    if isinstance(keys, SparseTensor):
        return SparseTensor(keys.indices, values, keys.dense_shape)
    return values


def values_of(keys: Any) -> Any:
    """Returns the values of a SparseTensor, or the tensor of something else."""
    return keys.values if isinstance(keys, SparseTensor) else convert_to_tensor(keys)


class InitializableLookupTableBase(LookupInterface):
    """Base class of tables with an initializer.

    Args:
      default_value: [] value of keys that the table lacks.
      initializer: TableInitializerBase with the rows.
    """

    def __init__(self, default_value: TensorLike, initializer: TableInitializerBase) -> None:
        super().__init__(initializer.key_dtype, initializer.value_dtype)
        self._initializer = initializer
        with init_scope():
            self._default_value = convert_to_tensor(default_value, dtype=self._value_dtype)
            self._default_value.shape.merge_with(TensorShape([]))
            self._set_handle(self._create_resource())
            self._init_op = initializer.initialize(self)

    def _create_resource(self) -> Tensor:
        raise NotImplementedError("Calling an abstract method.")

    @property
    def default_value(self) -> Tensor:
        """The value of keys that the table lacks."""
        return self._default_value

    @property
    def initializer(self) -> Operation:
        """The operation that initialises the table; tables_initializer() runs it too."""
        return self._init_op

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Returns the values of keys.

        Args:
          keys: Tensor or SparseTensor with the dtype of the keys.
        Returns: the values, or the default value, in the form of keys.
        Raises: TypeError for keys of another dtype; in a run FailedPreconditionError if the table
          is not initialised.
        """
        flat = values_of(keys)
        self._check_keys(flat)
        with name_scope(
            name, f"{self.name}_Lookup", (self.resource_handle, flat, self._default_value)
        ):
            values = op("LookupTableFindV2", self.resource_handle, flat, self._default_value)
        values.set_shape(flat.shape)
        return with_values(keys, values)


class StaticHashTable(InitializableLookupTableBase):
    """A table that does not change once it is initialised.

    Run `table.initializer` or `hr.tables_initializer()` before the first lookup.

    Args:
      initializer: TableInitializerBase with the rows.
      default_value: [] value of keys that the table lacks.

    >>> import headrace.graph as hr
    >>> rows = hr.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    >>> table = hr.lookup.StaticHashTable(rows, default_value=-1)
    >>> found = table.lookup(hr.constant(["b", "c"]))
    >>> with hr.Session() as session:
    ...     session.run(hr.tables_initializer())
    ...     print(session.run(found))
    [ 2 -1]
    """

    def __init__(
        self,
        initializer: TableInitializerBase,
        default_value: TensorLike,
        name: str | None = None,
    ) -> None:
        self._name = name or "hash_table"
        self._shared_name = initializer._shared_name
        super().__init__(default_value, initializer)

    def _create_resource(self) -> Tensor:
        return op(
            "HashTableV2",
            shared_name=self._shared_name,
            # The name of the node is as good a name where the initializer gives none.
            use_node_name_sharing=not self._shared_name,
            key_dtype=self._key_dtype,
            value_dtype=self._value_dtype,
            name=self._name,
        )

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Returns (keys [n], values [n]), in no particular order."""
        with name_scope(name, f"{self.name}_Export", [self.resource_handle]):
            keys, values = op(
                "LookupTableExportV2",
                self.resource_handle,
                Tkeys=self._key_dtype,
                Tvalues=self._value_dtype,
            )
        keys.set_shape([None])
        values.set_shape([None])
        return keys, values


class HashTable(StaticHashTable):
    """StaticHashTable, with the arguments of contrib.lookup.HashTable.

    Args: as StaticHashTable, and
      shared_name: name under which sessions share the table.
    """

    def __init__(
        self,
        initializer: TableInitializerBase,
        default_value: TensorLike,
        shared_name: str | None = None,
        name: str = "hash_table",
    ) -> None:
        self._given_name = shared_name
        super().__init__(initializer, default_value, name)

    def _create_resource(self) -> Tensor:
        self._shared_name = self._given_name or self._shared_name
        return super()._create_resource()

    @property
    def init(self) -> Operation:
        """Same as initializer, its old name."""
        return self.initializer
