"""TensorArray: an array of tensors that loops write and read, one element per iteration."""

from __future__ import annotations

import contextlib
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import colocate_with, control_dependencies, device, name_scope
from headrace.graph.framework.tensor_shape import TensorShape, as_shape
from headrace.graph.typing.aliases import DTypeLike, ShapeLike, TensorLike


class _Facts:
    """What is known of all elements, shared by the objects that stand for one array."""

    def __init__(self, element_shape: Any, infer_shape: bool, size: Any, dynamic: bool) -> None:
        self.element_shape: TensorShape = as_shape(element_shape)
        self.infer_shape = infer_shape
        self.size = size
        self.dynamic = dynamic
        self.colocated: list[Tensor] | None = []  # the first value written; None: not colocated

    def add_shape(self, shape: TensorShape) -> None:
        if not shape.is_compatible_with(self.element_shape):
            raise ValueError(
                f"Inconsistent shapes: saw {shape} but expected {self.element_shape} "
                "(and infer_shape=True)"
            )
        if self.infer_shape:
            self.element_shape = self.element_shape.merge_with(shape)


class TensorArray:
    """An array of tensors of one dtype, which exists during one run.

    Each element is written at most once. A write returns a new TensorArray object: use it for what
    follows, because its flow orders the operations. Gradients pass through all operations.

    Args:
      dtype: dtype of the elements.
      size: int or int32 scalar, the number of elements; required without a handle.
      dynamic_size: writes beyond the end make the array longer; False by default.
      clear_after_read: an element is released by its first read, and cannot be read again; True by
        default.
      tensor_array_name: name in error messages; by default the name of the operation.
      handle, flow: an existing array, instead of size.
      infer_shape: all elements must have the same shape.
      element_shape: shape that all elements must have; it may be partly known.
      colocate_with_first_write_call: place the array on the device of the first value written.
      name: name scope of the operations.
    Raises: ValueError without size and handle, or for a handle with an argument that it excludes;
      TypeError for a handle that is not a Tensor.

    >>> array = hr.TensorArray(hr.float32, size=2).write(0, [1.0]).write(1, [2.0])
    >>> with hr.Session() as session:
    ...     print(session.run(array.stack()).tolist())
    [[1.0], [2.0]]
    """

    def __init__(
        self,
        dtype: DTypeLike,
        size: TensorLike | None = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Tensor | None = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: ShapeLike = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        _check_arguments(
            handle, size, tensor_array_name, element_shape, dynamic_size, clear_after_read
        )
        self._dtype = as_dtype(dtype).base_dtype
        self._facts = _Facts(element_shape, infer_shape, size, bool(dynamic_size))
        if not colocate_with_first_write_call:
            self._facts.colocated = None
        with name_scope(
            name, "TensorArray", [t for t in (handle, size, flow) if t is not None]
        ) as (scope):
            if handle is not None:
                if flow is None:
                    raise ValueError("flow must not be None if handle is not None.")
                self._handle, self._flow = handle, flow
                return
            with contextlib.ExitStack() as entered:
                if colocate_with_first_write_call:
                    entered.enter_context(device(None))
                    entered.enter_context(colocate_with(None, ignore_existing=True))
                self._handle, self._flow = op(
                    "TensorArrayV3",
                    size,
                    dtype=self._dtype,
                    element_shape=element_shape,
                    identical_element_shapes=infer_shape,
                    dynamic_size=bool(dynamic_size),
                    clear_after_read=clear_after_read is not False,
                    tensor_array_name=tensor_array_name or "",
                    name=scope,
                )

    flow = property(lambda self: self._flow, doc="The float scalar that orders the operations.")
    dtype = property(lambda self: self._dtype, doc="The dtype of the elements.")
    handle = property(lambda self: self._handle, doc="The resource.")
    dynamic_size = property(lambda self: self._facts.dynamic, doc="Whether writes make it longer.")
    element_shape = property(
        lambda self: self._facts.element_shape, doc="What is known of the elements' shape."
    )

    def _with_flow(self, flow: Tensor) -> TensorArray:
        """Returns the same array after other operations: control flow carries only the flow."""
        found = TensorArray.__new__(TensorArray)
        found._dtype = self._dtype
        found._facts = self._facts
        found._handle = self._handle
        found._flow = flow
        return found

    @contextlib.contextmanager
    def _placed(self, value: Tensor) -> Any:
        """Colocates writes with the first value written."""
        first = self._facts.colocated
        if first is None:
            yield
            return
        if not first:
            first.append(value)
        with colocate_with(first[0]):
            yield

    def identity(self) -> TensorArray:
        """Returns the same array, with a flow that depends on the active control dependencies."""
        return self._with_flow(op("Identity", self._flow))

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        """Returns the array of the gradients of the elements.

        Args:
          source: name of the gradient array; several calls with one name share the array.
          flow: orders its creation after the last write that may change the size.
        Returns: an array of the same size, whose writes to one element are summed.
        """
        flow = self._flow if flow is None else flow
        with name_scope(name, "TensorArrayGrad", [self._handle]), colocate_with(self._handle):
            handle, _ = op("TensorArrayGradV3", self._handle, flow, source=source, name=name)
            with control_dependencies([handle.op]):
                flow = op("Identity", flow, name="gradient_flow")
        found = self._with_flow(flow)
        found._handle = handle
        found._facts = _Facts(self.element_shape, self._facts.infer_shape, None, False)
        found._facts.colocated = None
        return found

    def read(self, index: TensorLike, name: str | None = None) -> Tensor:
        """Returns the element at index, an int32 scalar."""
        value: Tensor = op(
            "TensorArrayReadV3", self._handle, index, self._flow, dtype=self._dtype, name=name
        )
        value.set_shape(self.element_shape)
        return value

    def write(self, index: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """Writes value to the element at index, an int32 scalar.

        Returns: the array after the write.
        Raises: ValueError for a value whose shape differs from those of other elements.
        """
        with name_scope(name, "TensorArrayWrite", [self._handle, index, value]):
            value = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
            self._facts.add_shape(value.get_shape())
            with self._placed(value):
                flow = op("TensorArrayWriteV3", self._handle, index, value, self._flow, name=name)
        return self._with_flow(flow)

    def stack(self, name: str | None = None) -> Tensor:
        """Returns all elements in one tensor [size, *element_shape]."""
        with colocate_with(self._handle), name_scope(name, "TensorArrayStack", [self._handle]):
            found = self.gather(op("Range", 0, self.size(), 1, name="range"), name=name)
        facts = self._facts
        if not facts.dynamic and facts.size is not None and facts.element_shape.ndims is not None:
            size = constant_value(facts.size) if isinstance(facts.size, Tensor) else facts.size
            size = None if size is None else int(size)
            found.set_shape([size, *facts.element_shape.as_list()])
        return found

    def gather(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Returns the elements at indices, int32 [n], in one tensor [n, *element_shape]."""
        shape = self.element_shape
        value: Tensor = op(
            "TensorArrayGatherV3",
            self._handle,
            indices,
            self._flow,
            dtype=self._dtype,
            element_shape=shape,
            name=name,
        )
        if shape.ndims is not None:
            value.set_shape([None, *shape.as_list()])
        return value

    def concat(self, name: str | None = None) -> Tensor:
        """Returns all elements, joined along their first dimension."""
        shape = self.element_shape
        rest = None if shape.ndims is None else shape.as_list()[1:]
        value: Tensor = op(
            "TensorArrayConcatV3",
            self._handle,
            self._flow,
            dtype=self._dtype,
            element_shape_except0=rest,
            name=name,
        ).value
        if rest is not None:
            value.set_shape([None, *rest])
        return value

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """Writes the rows of value to the elements from 0 on. Returns: the array afterwards."""
        with name_scope(name, "TensorArrayUnstack", [self._handle, value]):
            value = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
            count = op("Shape", value)[0]
            return self.scatter(op("Range", 0, count, 1, name="range"), value, name=name)

    def scatter(
        self, indices: TensorLike, value: TensorLike, name: str | None = None
    ) -> TensorArray:
        """Writes the rows of value [n, ...] to the elements at indices, int32 [n].

        Returns: the array afterwards.
        Raises: ValueError for rows whose shape differs from those of other elements.
        """
        with name_scope(name, "TensorArrayScatter", [self._handle, value, indices]):
            value = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
            self._facts.add_shape(value.get_shape()[1:])
            with self._placed(value):
                flow = op(
                    "TensorArrayScatterV3", self._handle, indices, value, self._flow, name=name
                )
        return self._with_flow(flow)

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> TensorArray:
        """Writes consecutive rows of value to the elements: lengths[i] of them to element i.

        Returns: the array afterwards.
        Raises: ValueError for elements whose shape differs from those of others.
        """
        with name_scope(name, "TensorArraySplit", [self._handle, value, lengths]):
            value = convert_to_tensor(value, dtype=self._dtype, name="value")
            with self._placed(value):
                lengths = op("Cast", lengths, DstT="int64")
                known = constant_value(lengths)
                shape = value.get_shape()
                if shape.ndims is not None and known is not None and known.size:
                    if known.max() == known.min():
                        self._facts.add_shape(as_shape([int(known[0]), *shape.as_list()[1:]]))
                flow = op("TensorArraySplitV3", self._handle, value, lengths, self._flow, name=name)
        return self._with_flow(flow)

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of elements, an int32 scalar."""
        found: Tensor = op("TensorArraySizeV3", self._handle, self._flow, name=name)
        return found

    def close(self, name: str | None = None) -> Operation:
        """Returns the operation that releases all elements before the run ends."""
        found: Operation = op("TensorArrayCloseV3", self._handle, name=name)
        return found


def _check_arguments(
    handle: Any, size: Any, name: Any, element_shape: Any, dynamic_size: Any, clear_after_read: Any
) -> None:
    if handle is None:
        if size is None:
            raise ValueError("Size must be provided if handle is not provided")
        return
    if not isinstance(handle, Tensor):
        raise TypeError("Handle must be a Tensor")
    if name:
        raise ValueError("Cannot construct with both handle and tensor_array_name")
    excluded = {
        "size": size,
        "element_shape": element_shape,
        "dynamic_size": dynamic_size,
        "clear_after_read": clear_after_read,
    }
    for argument, value in excluded.items():
        if value is not None:
            raise ValueError(f"Cannot provide both a handle and {argument} at the same time")
