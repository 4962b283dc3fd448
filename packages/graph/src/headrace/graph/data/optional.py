"""Optional: a value that may be missing, such as the next element of an iterator."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.op_builder import op
from headrace.graph.data.component_specs import OptionalSpec
from headrace.graph.data.element_specs import flat_structure, from_tensors, spec_of, to_tensors
from headrace.graph.data.iterator import Iterator
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.typing.aliases import TensorStructure


class Optional:
    """A value that may be missing; a run finds out. `from_value` and `none_from_structure` make it.

    Args:
      variant_tensor: [] variant.
      value_structure: structure of the specs of the value.
    """

    def __init__(self, variant_tensor: Tensor, value_structure: Any) -> None:
        self._variant_tensor = variant_tensor
        self._value_structure = value_structure

    @property
    def _type_spec(self) -> OptionalSpec:
        return OptionalSpec(self._value_structure)

    @property
    def value_structure(self) -> Any:
        """The structure of the specs of the value."""
        return self._value_structure

    def has_value(self, name: str | None = None) -> Tensor:
        """Returns [] bool: whether there is a value."""
        return op("OptionalHasValue", self._variant_tensor, name=name)

    def get_value(self, name: str | None = None) -> Any:
        """Returns the value. Raises: in a run InvalidArgumentError if there is none."""
        with name_scope(name, "OptionalGetValue", [self._variant_tensor]) as scope:
            specs = self._value_structure
            found = op(
                "OptionalGetValue", self._variant_tensor, name=scope, **flat_structure(specs)
            )
            return from_tensors(specs, found)

    @staticmethod
    def from_value(value: TensorStructure) -> Optional:
        """Returns an Optional with a value. Args: value: structure of tensors."""
        with name_scope("optional") as scope:
            with name_scope("value"):
                specs = spec_of(value)
                tensors = to_tensors(specs, value)
            return Optional(op("OptionalFromValue", tensors, name=scope), specs)

    @staticmethod
    def none_from_structure(value_structure: Any) -> Optional:
        """Returns an Optional without a value."""
        return Optional(op("OptionalNone"), value_structure)


OptionalSpec._value_type = Optional  # type: ignore[attr-defined]
OptionalSpec._make = staticmethod(lambda spec, tensor: Optional(tensor, spec._value_structure))


def get_next_as_optional(iterator: Iterator) -> Optional:
    """Returns the next element as an Optional, which has no value at the end."""
    specs = iterator.element_spec
    node = op("IteratorGetNextAsOptional", iterator._iterator_resource, **flat_structure(specs))
    return Optional(node, specs)
