"""Flattens and repacks nested structures of lists, tuples, named tuples and dicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MappingView, Sequence
from typing import Any

_ONE_VALUE = (str, bytes, bytearray, memoryview)  # sequences that are leaves


def is_nested(structure: object) -> bool:
    """Returns whether a value is a sequence, a mapping, a view of one, or of an attrs class.

    Strings, arrays and tensors are leaves.
    """
    if isinstance(structure, (list, tuple)):
        return True
    if isinstance(structure, (Mapping, MappingView)):
        return True
    if isinstance(structure, Sequence):
        return not isinstance(structure, _ONE_VALUE)
    return hasattr(type(structure), "__attrs_attrs__")


is_sequence = is_nested


def is_nested_or_composite(structure: object) -> bool:
    """Same as `is_nested`."""
    return is_nested(structure)


def _items(structure: Any) -> list[Any]:
    if isinstance(structure, Mapping):
        return [structure[key] for key in _sorted_keys(structure)]
    if hasattr(type(structure), "__attrs_attrs__"):
        return [getattr(structure, attr.name) for attr in type(structure).__attrs_attrs__]
    return list(structure)


def _sorted_keys(mapping: Any) -> list[Any]:
    try:
        return sorted(mapping)
    except TypeError:
        raise TypeError(
            f"nest only supports dicts with sortable keys, got {list(mapping)}"
        ) from None


def flatten(structure: Any) -> list[Any]:
    """Returns the leaves in order; mappings are traversed in order of their keys.

    Raises: TypeError for a mapping with keys that cannot be sorted.
    """
    if not is_nested(structure):
        return [structure]
    out: list[Any] = []
    _flatten_into(structure, out)
    return out


def _flatten_into(structure: Any, out: list[Any]) -> None:
    for item in _items(structure):
        if is_nested(item):
            _flatten_into(item, out)
        else:
            out.append(item)


def _like(structure: Any, items: list[Any]) -> Any:
    if isinstance(structure, Mapping):
        by_key = dict(zip(_sorted_keys(structure), items))
        ordered = [(key, by_key[key]) for key in structure]
        make: Any = type(structure)
        if hasattr(structure, "default_factory"):
            return make(structure.default_factory, ordered)
        return make(ordered)
    if hasattr(structure, "_fields"):
        return type(structure)(*items)
    if isinstance(structure, (MappingView, range)):
        return items
    if hasattr(type(structure), "__attrs_attrs__"):
        return type(structure)(*items)
    return type(structure)(items)


def pack_sequence_as(structure: Any, flat_sequence: Sequence[Any]) -> Any:
    """Packs the leaves of flat_sequence into the structure of `structure`.

    Raises: ValueError if the numbers of leaves differ; TypeError if flat_sequence is not a
      sequence.
    """
    if not isinstance(flat_sequence, (list, tuple)):
        raise TypeError(f"flat_sequence must be a list or tuple, not {flat_sequence!r}")
    if not is_nested(structure):
        if len(flat_sequence) != 1:
            raise ValueError(
                f"Structure is a scalar but len(flat_sequence) == {len(flat_sequence)} > 1"
            )
        return flat_sequence[0]
    count = len(flatten(structure))
    if count != len(flat_sequence):
        raise ValueError(
            "Could not pack sequence. "
            f"Structure had {count} elements, but flat_sequence had {len(flat_sequence)} elements."
        )
    return _pack(structure, iter(flat_sequence))


def _pack(structure: Any, leaves: Any) -> Any:
    return _like(
        structure,
        [_pack(item, leaves) if is_nested(item) else next(leaves) for item in _items(structure)],
    )


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
    """Checks that two structures have the same nesting.

    Args:
      check_types: whether the types of lists, tuples and mappings must also agree.
    Raises: ValueError for different nesting; TypeError for different types.
    """
    try:
        _compare(nest1, nest2, check_types)
    except (ValueError, TypeError) as error:
        raise type(error)(
            "The two structures don't have the same nested structure.\n\n"
            f"First structure: {nest1!r}\n\nSecond structure: {nest2!r}\n\n"
            f"More specifically: {error}"
        ) from None


def _compare(a: Any, b: Any, check_types: bool) -> None:
    if is_nested(a) != is_nested(b):
        raise ValueError(f"{a!r} and {b!r}: one is nested, the other is not")
    if not is_nested(a):
        return
    if check_types and not _same_type(a, b):
        raise TypeError(f"{type(a)} and {type(b)} are different types of sequence")
    if isinstance(a, Mapping):
        if not isinstance(b, Mapping) or set(a) != set(b):
            raise ValueError(f"the keys {list(a)} differ from {list(b)}")
    x, y = _items(a), _items(b)
    if len(x) != len(y):
        raise ValueError(f"{len(x)} elements against {len(y)}")
    for i, j in zip(x, y):
        _compare(i, j, check_types)


def _same_type(a: Any, b: Any) -> bool:
    if type(a) is type(b):
        return True
    if hasattr(a, "_fields") and hasattr(b, "_fields"):
        return a._fields == b._fields and type(a).__name__ == type(b).__name__
    views = isinstance(a, MappingView) and isinstance(b, (MappingView, list))
    return views or (isinstance(a, Mapping) and isinstance(b, Mapping))


def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Applies a function to corresponding leaves of structures.

    Args:
      func: function with one argument per structure.
      check_types: whether the types of the structures must also agree.
    Returns: the results, in the structure of the first argument.
    Raises: TypeError if func is not callable or for another keyword; ValueError without a
      structure; as assert_same_structure.
    """
    check_types = kwargs.pop("check_types", True)
    if kwargs:
        raise ValueError(f"Only valid keyword argument is check_types, not: {list(kwargs)}")
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func!r}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types)
    leaves = zip(*[flatten(s) for s in structure])
    return pack_sequence_as(structure[0], [func(*group) for group in leaves])


def flatten_dict_items(dictionary: Mapping[Any, Any]) -> dict[Any, Any]:
    """Flattens a mapping whose keys and values have the same nesting.

    Raises: TypeError if it is not a mapping; ValueError for a repeated key; as
      assert_same_structure.
    """
    if not isinstance(dictionary, Mapping):
        raise TypeError("input must be a dictionary")
    flat: dict[Any, Any] = {}
    for key, value in dictionary.items():
        if not is_nested(key):
            pairs = [(key, value)]
        else:
            assert_same_structure(key, value, check_types=False)
            pairs = list(zip(flatten(key), flatten(value)))
        for k, v in pairs:
            if k in flat:
                raise ValueError(f"Could not flatten dictionary: key {k!r} is not unique.")
            flat[k] = v
    return flat


def assert_shallow_structure(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> None:
    """Checks that shallow_tree is a prefix of input_tree.

    Raises: TypeError for different types of sequences; ValueError for different lengths or keys.
    """
    if not is_nested(shallow_tree):
        return
    if not is_nested(input_tree):
        raise TypeError(
            "If shallow structure is a sequence, input must also be a sequence. "
            f"Input has type: {type(input_tree)}."
        )
    if check_types and not _same_type(shallow_tree, input_tree):
        raise TypeError(
            "The two structures don't have the same sequence type. Input structure has type "
            f"{type(input_tree)}, while shallow structure has type {type(shallow_tree)}."
        )
    if len(input_tree) != len(shallow_tree):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has length "
            f"{len(input_tree)}, while shallow structure has length {len(shallow_tree)}."
        )
    if isinstance(shallow_tree, Mapping) and set(input_tree) != set(shallow_tree):
        raise ValueError(
            "The two structures don't have the same keys. Input structure has keys "
            f"{list(input_tree)}, while shallow structure has keys {list(shallow_tree)}."
        )
    for shallow, branch in zip(_items(shallow_tree), _items(input_tree)):
        assert_shallow_structure(shallow, branch, check_types)


def flatten_up_to(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> list[Any]:
    """Returns the subtrees of input_tree at the leaves of shallow_tree.

    Raises: as assert_shallow_structure.
    """
    assert_shallow_structure(shallow_tree, input_tree, check_types)
    out: list[Any] = []

    def walk(shallow: Any, branch: Any) -> None:
        if is_nested(shallow):
            for s, b in zip(_items(shallow), _items(branch)):
                walk(s, b)
        else:
            out.append(branch)

    walk(shallow_tree, input_tree)
    return out


def map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any) -> Any:
    """Applies a function to the subtrees of the inputs at the leaves of shallow_tree.

    Raises: ValueError without inputs; as assert_shallow_structure.
    """
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    parts = [flatten_up_to(shallow_tree, tree) for tree in inputs]
    return pack_sequence_as(shallow_tree, [func(*group) for group in zip(*parts)])
