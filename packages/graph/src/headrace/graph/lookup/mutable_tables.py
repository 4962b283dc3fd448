"""Lookup tables that change from step to step; savers save them."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.checkpoints.saveables import SaveableObject, SaveSpec
from headrace.graph.framework.default_graph import add_to_collection
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.lookup.tables import LookupInterface
from headrace.graph.typing.aliases import DTypeLike, TensorLike


class TableSaveable(SaveableObject):
    """The keys and values of a table in a checkpoint: NAME-keys and NAME-values."""

    def __init__(self, table: MutableTable, name: str) -> None:
        keys, values = table.export()
        specs = [SaveSpec(keys, "", name + "-keys"), SaveSpec(values, "", name + "-values")]
        self._table = table
        super().__init__(table.resource_handle.op, specs, name)

    def restore(self, restored_tensors: list[Tensor], restored_shapes: Any) -> Operation:
        """Adds the operation that replaces the rows of the table."""
        with name_scope(f"{self.name}_table_restore"):
            return op("LookupTableImportV2", self._table.resource_handle, *restored_tensors)


class MutableTable(LookupInterface):
    """Base class of tables that change.

    Args:
      handle: the table.
      default_value: value of keys that the table lacks.
      name: name in checkpoints.
      checkpoint: whether savers save the table.
    """

    def __init__(self, handle: Tensor, default_value: Tensor, name: str, checkpoint: bool) -> None:
        key, value = (handle.op.get_attr(attr) for attr in ("key_dtype", "value_dtype"))
        super().__init__(key, value)
        self._set_handle(handle)
        self._default_value = default_value
        if checkpoint:
            add_to_collection(GraphKeys.SAVEABLE_OBJECTS, TableSaveable(self, name))

    def lookup(self, keys: TensorLike, name: str | None = None) -> Tensor:
        """Returns the values of keys, or the default value.

        Raises: TypeError for keys of another dtype.
        """
        with name_scope(name, f"{self.name}_lookup_table_find", [self.resource_handle]):
            found = convert_to_tensor(keys, dtype=self._key_dtype, name="keys")
            return op("LookupTableFindV2", self.resource_handle, found, self._default_value)

    def insert(self, keys: TensorLike, values: TensorLike, name: str | None = None) -> Operation:
        """Creates an operation that adds rows, and gives keys that are there new values.

        Raises: TypeError for keys or values of other dtypes.
        """
        with name_scope(name, f"{self.name}_lookup_table_insert", [self.resource_handle]):
            return op(
                "LookupTableInsertV2",
                self.resource_handle,
                convert_to_tensor(keys, dtype=self._key_dtype, name="keys"),
                convert_to_tensor(values, dtype=self._value_dtype, name="values"),
            )

    def remove(self, keys: TensorLike, name: str | None = None) -> Operation:
        """Creates an operation that removes rows; it passes over keys that the table lacks.

        Raises: TypeError for keys of another dtype.
        """
        found = keys if isinstance(keys, Tensor) else convert_to_tensor(keys, dtype=self._key_dtype)
        self._check_keys(found)
        with name_scope(name, f"{self.name}_lookup_table_remove", [self.resource_handle]):
            return op("LookupTableRemoveV2", self.resource_handle, found)

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Returns (keys, values) of all rows, in no particular order."""
        with name_scope(name, f"{self.name}_lookup_table_export_values", [self.resource_handle]):
            keys, values = op(
                "LookupTableExportV2",
                self.resource_handle,
                Tkeys=self._key_dtype,
                Tvalues=self._value_dtype,
            )
        return keys, values


class MutableHashTable(MutableTable):
    """A table that changes.

    Args:
      key_dtype, value_dtype: dtypes of the table.
      default_value: value of keys that the table lacks; its shape, [] or [n], is that of values.
      name: name of the node, and in checkpoints.
      checkpoint: whether savers save the table.
      shared_name: name under which sessions share the table.

    >>> import headrace.graph as hr
    >>> table = hr.lookup.experimental.MutableHashTable("string", "int64", default_value=-1)
    >>> insert = table.insert(["a", "b"], [1, 2])
    >>> found = table.lookup(["b", "c"])
    >>> with hr.Session() as session:
    ...     session.run(insert)
    ...     print(session.run(found))
    [ 2 -1]
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: TensorLike,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
        shared_name: str | None = None,
    ) -> None:
        default = convert_to_tensor(default_value, dtype=value_dtype)
        of_tensors = default.shape.ndims != 0
        handle = op(
            "MutableHashTableOfTensorsV2" if of_tensors else "MutableHashTableV2",
            shared_name=shared_name or "",
            use_node_name_sharing=checkpoint and shared_name is None,
            key_dtype=key_dtype,
            value_dtype=value_dtype,
            name=name,
            **({"value_shape": default.shape} if of_tensors else {}),
        )
        super().__init__(handle, default, name, checkpoint)

    def lookup(self, keys: TensorLike, name: str | None = None) -> Tensor:
        """Returns the values of keys, or the default value.

        Raises: TypeError for keys of another dtype.
        """
        values = super().lookup(keys, name)
        values.set_shape(values.op.inputs[1].shape.concatenate(self._default_value.shape))
        return values

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Returns (keys [n], values [n, ...]) of all rows, in no particular order."""
        keys, values = super().export(name)
        keys.set_shape([None])
        values.set_shape(TensorShape([None]).concatenate(self._default_value.shape))
        return keys, values


class DenseHashTable(MutableTable):
    """A table that changes, whose keys may be vectors, and two of whose keys are reserved.

    Args:
      key_dtype, value_dtype: dtypes of the table.
      default_value: value of keys that the table lacks; its shape is that of values.
      empty_key, deleted_key: reserved keys, which differ; their shape is that of keys.
      initial_num_buckets: number of places at the begin, a power of 2.
      name: name of the node, and in checkpoints.
      checkpoint: whether savers save the table.
      shared_name: name under which sessions share the table.
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: TensorLike,
        empty_key: TensorLike,
        deleted_key: TensorLike,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
        shared_name: str | None = None,
    ) -> None:
        default = convert_to_tensor(default_value, dtype=value_dtype, name="default_value")
        attributes = {} if initial_num_buckets is None else {
            "initial_num_buckets": initial_num_buckets
        }  # fmt: skip
        empty = convert_to_tensor(empty_key, dtype=key_dtype, name="empty_key")
        handle = op(
            "MutableDenseHashTableV2",
            empty,
            convert_to_tensor(deleted_key, dtype=key_dtype, name="deleted_key"),
            shared_name=shared_name or "",
            use_node_name_sharing=checkpoint and shared_name is None,
            value_dtype=value_dtype,
            value_shape=default.shape,
            name=name,
            **attributes,
        )
        self._key_rank = empty.shape.ndims
        super().__init__(handle, default, name, checkpoint)

    def lookup(self, keys: TensorLike, name: str | None = None) -> Tensor:
        """Returns the values of keys, or the default value.

        Raises: TypeError for keys of another dtype; in a run InvalidArgumentError for a reserved
          key.
        """
        values = super().lookup(keys, name)
        outer = values.op.inputs[1].shape
        if outer.ndims is not None and self._key_rank is not None:
            outer = outer[: outer.ndims - self._key_rank]
            values.set_shape(outer.concatenate(self._default_value.shape))
        return values

    insert_or_assign = MutableTable.insert

    def erase(self, keys: TensorLike, name: str | None = None) -> Operation:
        """Same as remove."""
        return self.remove(keys, name)


class MutableDenseHashTable(DenseHashTable):
    """DenseHashTable, with the arguments of contrib.lookup.MutableDenseHashTable."""

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: TensorLike,
        empty_key: TensorLike,
        deleted_key: TensorLike,
        initial_num_buckets: int | None = None,
        shared_name: str | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
    ) -> None:
        super().__init__(
            key_dtype, value_dtype, default_value, empty_key, deleted_key, initial_num_buckets,
            name, checkpoint, shared_name,
        )  # fmt: skip


class ContribMutableHashTable(MutableHashTable):
    """MutableHashTable, with the arguments of contrib.lookup.MutableHashTable."""

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: TensorLike,
        shared_name: str | None = None,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
    ) -> None:
        super().__init__(key_dtype, value_dtype, default_value, name, checkpoint, shared_name)
