"""Structures of elements: tuples, named tuples and dicts; unlike in hr.nest, a list is one value.

A list in an element becomes a tensor, as in TF 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.graph.builder.indexed_slices import SparseTensorValue


def is_nested(structure: object) -> bool:
    """Returns whether a value is a tuple or a mapping; a SparseTensorValue is one value."""
    if isinstance(structure, SparseTensorValue):
        return False
    if isinstance(structure, (tuple, Mapping)):
        return True
    return hasattr(type(structure), "__attrs_attrs__")


def _parts(structure: Any) -> list[Any]:
    """Returns what a structure holds, the values of a mapping in order of the keys."""
    if isinstance(structure, Mapping):
        return [structure[key] for key in _sorted_keys(structure)]
    if hasattr(type(structure), "__attrs_attrs__"):
        return [getattr(structure, attr.name) for attr in type(structure).__attrs_attrs__]
    return list(structure)


def _sorted_keys(mapping: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(mapping)
    except TypeError:
        raise TypeError("nest only supports dicts with sortable keys.") from None


def flatten(structure: Any) -> list[Any]:
    """Returns the leaves in order. Raises: TypeError for keys that cannot be sorted."""
    if not is_nested(structure):
        return [structure]
    return [leaf for part in _parts(structure) for leaf in flatten(part)]


def pack_sequence_as(structure: Any, flat: Sequence[Any]) -> Any:
    """Packs leaves into a structure. Raises: ValueError for another number of leaves."""
    if not is_nested(structure):
        if len(flat) != 1:
            raise ValueError(f"Structure is a scalar but len(flat_sequence) == {len(flat)} > 1")
        return flat[0]
    count = len(flatten(structure))
    if count != len(flat):
        raise ValueError(
            f"Could not pack sequence. Structure had {count} elements, but flat_sequence had "
            f"{len(flat)} elements.  Structure: {structure}, flat_sequence: {flat}."
        )
    leaves = iter(flat)

    def pack(part: Any) -> Any:
        return _rebuilt(part, [pack(p) for p in _parts(part)]) if is_nested(part) else next(leaves)

    return pack(structure)


def _rebuilt(structure: Any, parts: list[Any]) -> Any:
    """Returns a structure of the same type with other parts."""
    kind: Any = type(structure)
    if isinstance(structure, Mapping):
        by_key = dict(zip(_sorted_keys(structure), parts, strict=True))
        pairs = [(key, by_key[key]) for key in structure]
        if hasattr(structure, "default_factory"):
            return kind(structure.default_factory, pairs)
        return kind(pairs)
    if hasattr(structure, "_fields") or hasattr(kind, "__attrs_attrs__"):
        return kind(*parts)
    return kind(parts)


def map_structure(func: Callable[..., Any], *structures: Any) -> Any:
    """Applies a function to corresponding leaves; the result has the first structure.

    Raises: as assert_same_structure.
    """
    first = structures[0]
    for other in structures[1:]:
        assert_same_structure(first, other)
    rows = zip(*[flatten(s) for s in structures], strict=True)
    return pack_sequence_as(first, [func(*row) for row in rows])


def assert_same_structure(one: Any, other: Any) -> None:
    """Checks that two structures have the same nesting.

    Raises: ValueError for different nesting; TypeError for different types.
    """
    try:
        _compare(one, other)
    except (TypeError, ValueError) as error:
        raise type(error)(
            "The two structures don't have the same nested structure.\n\n"
            f"First structure: type={type(one).__name__} str={one}\n\n"
            f"Second structure: type={type(other).__name__} str={other}\n\n"
            f"More specifically: {error}"
        ) from None


def _compare(one: Any, other: Any) -> None:
    if is_nested(one) != is_nested(other):
        nested, single = (one, other) if is_nested(one) else (other, one)
        raise ValueError(
            f'Substructure "type={type(nested).__name__} str={nested}" is a sequence, while '
            f'substructure "type={type(single).__name__} str={single}" is not'
        )
    if not is_nested(one):
        return
    if type(one) is not type(other) and not _same_kind(one, other):
        raise TypeError(
            "The two structures don't have the same sequence type. First structure has type "
            f"{type(one)}, while second structure has type {type(other)}."
        )
    if isinstance(one, Mapping) and set(one) != set(other):
        raise ValueError(
            "The two dictionaries don't have the same set of keys. First structure has keys "
            f"{list(one)}, while second structure has keys {list(other)}."
        )
    ones, others = _parts(one), _parts(other)
    if len(ones) != len(others):
        raise ValueError(
            "The two structures don't have the same number of elements. First structure has "
            f"{len(ones)}, second structure has {len(others)}."
        )
    for a, b in zip(ones, others, strict=True):
        _compare(a, b)


def _same_kind(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return True
    fields = getattr(one, "_fields", None)
    return (
        fields is not None
        and fields == getattr(other, "_fields", None)
        and type(one).__name__ == type(other).__name__
    )


def flatten_up_to(shallow: Any, structure: Any) -> list[Any]:
    """Returns the parts of a structure at the leaves of a shallow one.

    Raises: TypeError for other types of sequences; ValueError for other lengths or keys.
    """
    _check_prefix(shallow, structure)
    found: list[Any] = []

    def walk(prefix: Any, part: Any) -> None:
        if not is_nested(prefix):
            found.append(part)
            return
        for p, s in zip(_parts(prefix), _parts(part), strict=True):
            walk(p, s)

    walk(shallow, structure)
    return found


def _check_prefix(shallow: Any, structure: Any) -> None:
    if not is_nested(shallow):
        return
    if not is_nested(structure):
        raise TypeError(
            "If shallow structure is a sequence, input must also be a sequence. "
            f"Input has type: {type(structure)}."
        )
    if not isinstance(structure, type(shallow)) and not _same_kind(shallow, structure):
        raise TypeError(
            "The two structures don't have the same sequence type. Input structure has type "
            f"{type(structure)}, while shallow structure has type {type(shallow)}."
        )
    if len(structure) != len(shallow):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has length "
            f"{len(structure)}, while shallow structure has length {len(shallow)}."
        )
    if isinstance(shallow, Mapping) and set(structure) != set(shallow):
        raise ValueError(
            "The two structures don't have the same keys. Input structure has keys "
            f"{list(structure)}, while shallow structure has keys {list(shallow)}."
        )
    for p, s in zip(_parts(shallow), _parts(structure), strict=True):
        _check_prefix(p, s)


def map_structure_up_to(shallow: Any, func: Callable[..., Any], *structures: Any) -> Any:
    """Applies a function to the parts at the leaves of a shallow structure.

    Raises: as flatten_up_to.
    """
    rows = zip(*[flatten_up_to(shallow, s) for s in structures], strict=True)
    return pack_sequence_as(shallow, [func(*row) for row in rows])
