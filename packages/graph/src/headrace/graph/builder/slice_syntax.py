"""Converts index expressions such as x[1, ..., 2:n, None] to StridedSlice nodes."""

from __future__ import annotations

import numbers
from typing import Any, NoReturn

import numpy as np

from headrace.formats.dtypes import DType
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.graph import graph_of_result
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.tensor_shape import Dimension

newaxis = None


def slice_tensor(tensor: Any, slice_spec: Any, var: Any = None) -> Tensor:
    """Returns the part of a tensor selected by a Python index expression.

    Args:
      tensor: [...] any dtype.
      slice_spec: an int, slice, Ellipsis, None, integer scalar tensor, or a tuple of these; a
        boolean tensor or array selects as in boolean_mask.
      var: the variable whose value `tensor` is, if any; the result's `assign` writes into it.
    Raises: TypeError for other indices; ValueError for two ellipses.
    """
    mask = _as_mask(slice_spec)
    if mask is not None:
        from headrace.graph.api.namespace import find

        return find("boolean_mask")(tensor, mask)
    specs = slice_spec if isinstance(slice_spec, (tuple, list)) else (slice_spec,)
    begin: list[Any] = []
    end: list[Any] = []
    strides: list[Any] = []
    masks = dict.fromkeys(
        ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0
    )
    for i, spec in enumerate(specs):
        bit = 1 << i
        if isinstance(spec, slice):
            begin.append(_position(spec.start, 0))
            end.append(_position(spec.stop, 0))
            strides.append(_position(spec.step, 1))
            masks["begin_mask"] |= bit if spec.start is None else 0
            masks["end_mask"] |= bit if spec.stop is None else 0
        elif spec is Ellipsis:
            if masks["ellipsis_mask"]:
                raise ValueError("Multiple ellipses in slice spec not allowed")
            begin.append(0)
            end.append(0)
            strides.append(1)
            masks["ellipsis_mask"] |= bit
        elif spec is None:
            begin.append(0)
            end.append(0)
            strides.append(1)
            masks["new_axis_mask"] |= bit
        else:
            start = _position(spec, 0)
            begin.append(start)
            strides.append(1)
            masks["shrink_axis_mask"] |= bit
            end.append(start + 1)
    graph = graph_of_result(tensor)
    with graph.as_default(), graph.name_scope("strided_slice") as scope:
        tensors = [v for v in (*begin, *end, *strides) if isinstance(v, Tensor)]
        dtype = _index_type(tensors, (*begin, *end, *strides))
        packed = [
            _vector(values, dtype, name)
            for values, name in ((begin, "stack"), (end, "stack_1"), (strides, "stack_2"))
        ]
        result = op("StridedSlice", tensor, *packed, name=scope, **masks)
    return with_assign(result, var, packed, masks)


def with_assign(
    result: Tensor, var: Any, positions: list[Any], masks: dict[str, int], name: str | None = None
) -> Tensor:
    """Returns a slice with the method `assign`, which writes into the variable it was taken from.

    Args:
      result: the StridedSlice.
      var: the variable, or None: `assign` then raises ValueError.
      positions: begin, end and strides of the slice.
      masks: the masks of the slice.
      name: of the slice, as the caller gave it.
    """
    if var is None:
        result.assign = _reject_assignment
        return result
    default = f"{name or result.op.name + '/'}_assign"

    def assign(value: Any, name: str | None = None) -> Any:
        """Assigns to this part of the variable; returns as the variable's `assign`."""
        return var._strided_slice_assign(*positions, value, name=name or default, **masks)

    result.assign = assign
    return result


def _reject_assignment(value: Any, name: str | None = None) -> NoReturn:
    raise ValueError("Sliced assignment is only supported for variables")


def _position(value: Any, default: int) -> Any:
    if value is None:
        return default
    if isinstance(value, Dimension):
        if value.value is None:
            raise TypeError("cannot slice by an unknown Dimension: use hr.shape(x)[i]")
        return value.value
    if isinstance(value, bool):
        raise ValueError("mask cannot be scalar.")
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iu":
        return int(value)
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, DType) and dtype.base_dtype.as_datatype_enum in (3, 5, 9, 4, 6, 17):
        return convert_to_tensor(value)
    raise TypeError(
        "Only integers, slices (`:`), ellipsis (`...`), hr.newaxis (`None`) and scalar "
        f"hr.int32/hr.int64 tensors are valid indices, got {value!r}"
    )


def _index_type(tensors: list[Tensor], values: Any) -> int:
    wide = any(t.dtype.base_dtype.as_datatype_enum == 9 for t in tensors)
    wide = wide or any(isinstance(v, int) and not -(2**31) <= v < 2**31 for v in values)
    return 9 if wide else 3


def _vector(values: list[Any], dtype: int, name: str) -> Tensor:
    if not any(isinstance(v, Tensor) for v in values):
        return constant(values, DTYPES[dtype], name=name)
    items = []
    for i, v in enumerate(values):
        if isinstance(v, Tensor) and v.dtype.base_dtype.as_datatype_enum != dtype:
            v = op("Cast", v, DstT=dtype, name="Cast")
        items.append(convert_to_tensor(v, DTYPES[dtype], name=f"{name}/{i}"))
    return op("Pack", items, name=name)


def _dtypes() -> dict[int, DType]:
    from headrace.formats.dtypes import int32, int64

    return {3: int32, 9: int64}


DTYPES = _dtypes()


def _as_mask(spec: Any) -> Any:
    dtype = getattr(spec, "dtype", None)
    if isinstance(dtype, DType):
        return spec if dtype.is_bool else None
    if isinstance(spec, np.ndarray) and spec.dtype == np.bool_ and spec.ndim:
        return spec
    return None
