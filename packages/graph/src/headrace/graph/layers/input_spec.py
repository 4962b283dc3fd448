"""InputSpec: requirements of a layer on its inputs, and their check."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.typing.aliases import DTypeLike


class InputSpec:
    """Required dtype, rank, shape and axis sizes of an input.

    Args:
      dtype: required dtype.
      shape: required shape, a list of ints and None.
      ndim, max_ndim, min_ndim: required rank, and its bounds.
      axes: maps axes to required sizes.
      allow_last_axis_squeeze, name, optional: stored, but not checked.
    """

    def __init__(
        self,
        dtype: DTypeLike | None = None,
        shape: Any = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: dict[int, int | None] | None = None,
        allow_last_axis_squeeze: bool = False,
        name: str | None = None,
        optional: bool = False,
    ) -> None:
        self.dtype = None if dtype is None else as_dtype(dtype).name
        self.shape = shape
        self.ndim = ndim if shape is None else len(shape)
        self.max_ndim = max_ndim
        self.min_ndim = min_ndim
        self.axes = {int(k): v for k, v in (axes or {}).items()}
        self.allow_last_axis_squeeze = allow_last_axis_squeeze
        self.name = name
        self.optional = optional

    def __repr__(self) -> str:
        constraints = {k: v for k, v in vars(self).items() if v}
        return f"InputSpec({', '.join(f'{k}={v!r}' for k, v in constraints.items())})"


def check_inputs(spec: Any, inputs: list[Any], layer: str) -> None:
    """Checks the inputs of a layer. Raises: ValueError for an input that violates its spec."""
    if not spec:
        return
    specs = list(spec) if isinstance(spec, (list, tuple)) else [spec]
    if len(specs) != len(inputs):
        raise ValueError(
            f"Layer {layer} expects {len(specs)} inputs, but it received {len(inputs)} input "
            f"tensors: {inputs}"
        )
    for number, (requested, tensor) in enumerate(zip(specs, inputs, strict=True)):
        if requested is not None:
            _check(requested, tensor, f"Input {number} of layer {layer} is incompatible with the "
                                   "layer: ")  # fmt: skip


def _check(spec: InputSpec, tensor: Any, where: str) -> None:
    shape = tensor.get_shape()
    rank = shape.ndims
    if rank is None:
        if spec.ndim is not None or spec.min_ndim is not None or spec.max_ndim is not None:
            raise ValueError(
                f"{where}its rank is undefined, but the layer requires a defined rank."
            )
        return
    sizes = shape.as_list()
    full = f"Full shape received: {sizes}"
    if spec.ndim is not None and rank != spec.ndim:
        raise ValueError(f"{where}expected ndim={spec.ndim}, found ndim={rank}. {full}")
    if spec.max_ndim is not None and rank > spec.max_ndim:
        raise ValueError(f"{where}expected max_ndim={spec.max_ndim}, found ndim={rank}")
    if spec.min_ndim is not None and rank < spec.min_ndim:
        raise ValueError(f"{where}expected min_ndim={spec.min_ndim}, found ndim={rank}. {full}")
    if spec.dtype is not None and tensor.dtype.base_dtype.name != spec.dtype:
        raise ValueError(f"{where}expected dtype={spec.dtype}, found dtype={tensor.dtype.name}")
    for axis, size in spec.axes.items():
        if size is not None and sizes[axis] not in (size, None):
            raise ValueError(
                f"{where}expected axis {axis} of input shape to have value {size} but received "
                f"input with shape {sizes}"
            )
    for size, found in zip(spec.shape or (), sizes):
        if size is not None and found is not None and size != found:
            raise ValueError(f"{where}expected shape={tuple(spec.shape)}, found shape={sizes}")
