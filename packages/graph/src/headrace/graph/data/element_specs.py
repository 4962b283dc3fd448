"""Elements of datasets: their structure of specs, and their conversion to tensors and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import SparseTensor, SparseTensorValue
from headrace.graph.data import element_nest as nest
from headrace.graph.data.component_specs import component, from_legacy, spec_of_component
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.framework.tensor_spec import TensorSpec


def spec_of(element: Any) -> Any:
    """Returns the structure of the specs of an element, which may consist of arrays and values.

    Raises: TypeError for a leaf that does not convert to a tensor.
    """
    return nest.map_structure(_spec_of_leaf, element)


def _spec_of_leaf(value: Any) -> Any:
    spec = spec_of_component(value)
    if spec is None:
        try:
            spec = spec_of_component(convert_to_tensor(value))
        except (TypeError, ValueError):
            kind = type(value).__name__
            raise TypeError(f"Could not build a TypeSpec for {value!r} with type {kind}") from None
    return spec


def as_element(element: Any) -> Any:
    """Returns an element with its arrays and Python values converted to tensors.

    Raises: as convert_to_tensor.
    """
    leaves: list[Any] = []
    with name_scope("normalize_element"):
        for number, leaf in enumerate(nest.flatten(element)):
            if isinstance(leaf, SparseTensorValue):
                leaves.append(SparseTensor.from_value(leaf))
            elif isinstance(leaf, Tensor) or spec_of_component(leaf) is None:
                leaves.append(convert_to_tensor(leaf, name=f"component_{number}"))
            else:
                leaves.append(leaf)
    return nest.pack_sequence_as(element, leaves)


# ---- specs -----------------------------------------------------------------------------------


def flat_specs(specs: Any) -> list[TensorSpec]:
    """Returns the specs of the tensors that the pipeline passes for an element."""
    return [component(spec).flat(spec) for spec in nest.flatten(specs)]


def flat_structure(specs: Any) -> dict[str, Any]:
    """Returns the attributes output_types and output_shapes of an op that produces elements."""
    flat = flat_specs(specs)
    return {"output_types": [s.dtype for s in flat], "output_shapes": [s.shape for s in flat]}


def batched(specs: Any, size: int | None) -> Any:
    """Returns the specs of batches of elements; size None is unknown."""
    return nest.map_structure(lambda spec: component(spec).batched(spec, size), specs)


def unbatched(specs: Any) -> Any:
    """Returns the specs of the rows of elements. Raises: ValueError for scalars."""
    return nest.map_structure(lambda spec: component(spec).unbatched(spec), specs)


def are_compatible(one: Any, other: Any) -> bool:
    """Returns whether two structures of specs have the same nesting and compatible components."""
    try:
        nest.assert_same_structure(one, other)
    except (TypeError, ValueError):
        return False
    pairs = zip(nest.flatten(one), nest.flatten(other), strict=True)
    return all(type(a) is type(b) and a.is_compatible_with(b) for a, b in pairs)


def is_scalar_of(specs: Any, dtype: Any) -> bool:
    """Returns whether elements are single tensors that may be scalars of a dtype."""
    return type(specs) is TensorSpec and specs.is_compatible_with(TensorSpec([], dtype))


# ---- output_types, output_shapes, output_classes ---------------------------------------------


def output_types(specs: Any) -> Any:
    """Returns the dtypes of the components, in their structure."""
    return nest.map_structure(lambda spec: component(spec).legacy(spec)[0], specs)


def output_shapes(specs: Any) -> Any:
    """Returns the shapes of the components, in their structure."""
    return nest.map_structure(lambda spec: component(spec).legacy(spec)[1], specs)


def output_classes(specs: Any) -> Any:
    """Returns the classes of the components, in their structure: Tensor, SparseTensor, …"""
    return nest.map_structure(lambda spec: component(spec).legacy(spec)[2], specs)


def specs_from(types: Any, shapes: Any, classes: Any) -> Any:
    """Returns the specs of components with these dtypes, shapes and classes.

    Raises: TypeError for another class; ValueError for different structures.
    """
    rows = zip(nest.flatten(types), nest.flatten(shapes), nest.flatten(classes), strict=True)
    return nest.pack_sequence_as(classes, [from_legacy(*row) for row in rows])


def most_specific_shapes(one: Any, other: Any) -> Any:
    """Returns the specs of elements of one or the other of two datasets of equal types."""
    kinds = []
    for a, b in zip(nest.flatten(one), nest.flatten(other), strict=True):
        dtype, shape, kind = component(a).legacy(a)
        if shape is not kind:
            shape = shape.most_specific_compatible_shape(component(b).legacy(b)[1])
        kinds.append(from_legacy(dtype, shape, kind))
    return nest.pack_sequence_as(one, kinds)


# ---- conversion ------------------------------------------------------------------------------


def to_tensors(specs: Any, element: Any) -> list[Tensor]:
    """Returns the tensors that the pipeline passes for an element.

    Raises: ValueError or TypeError for another structure or components of other specs.
    """
    nest.assert_same_structure(specs, element)
    pairs = zip(nest.flatten(specs), nest.flatten(element), strict=True)
    return [component(spec).encode(spec, value) for spec, value in pairs]


def to_rows(specs: Any, element: Any) -> list[Tensor]:
    """Returns an element as tensors whose rows are tensors of elements.

    Raises: as to_tensors; ValueError for scalars.
    """
    nest.assert_same_structure(specs, element)
    pairs = zip(nest.flatten(specs), nest.flatten(element), strict=True)
    return [component(spec).encode_rows(spec, value) for spec, value in pairs]


def from_tensors(specs: Any, tensors: Sequence[Tensor]) -> Any:
    """Returns the element that tensors of the pipeline stand for.

    Raises: ValueError for another number of tensors.
    """
    flat = nest.flatten(specs)
    if len(flat) != len(tensors):
        raise ValueError(f"Expected {len(flat)} tensors but got {len(tensors)}.")
    found = [component(s).decode(s, t) for s, t in zip(flat, tensors, strict=True)]
    return nest.pack_sequence_as(specs, found)
