"""Operations and their output tensors."""

from __future__ import annotations

import linecache
from typing import TYPE_CHECKING, Any

from headrace.formats.dtypes import DType
from headrace.graph.framework import attributes
from headrace.graph.framework.attributes import AttrSet
from headrace.graph.framework.tensor_shape import Shape, TensorShape, as_dims, merge_dims, show
from headrace.graph.typing.aliases import FeedDict, SessionLike, ShapeLike

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

    from headrace.graph.framework.graph import Graph
    from headrace.graph.framework.operator_types import TensorOperators
else:
    TensorOperators = object


class Tensor(TensorOperators):
    """An output of an operation.

    Attributes:
      op: the Operation that produces it.
      value_index: its index among the operation's outputs.
      dtype: dtype of its elements.
    """

    # The graph computes `consumers` on demand, and the shape is a plain tuple: this way the cyclic
    # garbage collector traverses only three objects per node.
    # __dict__: programs set attributes of their own, as they may on TensorFlow's tensors
    __slots__ = ("__dict__", "_shape", "dtype", "op", "value_index")

    __array_priority__ = 100  # so that array + tensor calls Tensor.__radd__

    op: Operation
    value_index: int
    dtype: DType
    _shape: Shape
    # of a slice: assigns to this part of the variable it was taken from (builder/slice_syntax.py)
    assign: Callable[..., Any]

    def __init__(self, op: Operation, value_index: int, dtype: DType, shape: Shape = None) -> None:
        self.op = op
        self.value_index = value_index
        self.dtype = dtype
        self._shape = shape

    @property
    def name(self) -> str:
        """ "op:0"."""
        return f"{self.op.name}:{self.value_index}"

    @property
    def graph(self) -> Graph:
        """The graph of the tensor."""
        return self.op.graph

    @property
    def device(self) -> str:
        """The requested device of its operation; may be partial."""
        return self.op.device

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return TensorShape(self._shape)

    def get_shape(self) -> TensorShape:
        """The static shape."""
        return TensorShape(self._shape)

    def set_shape(self, shape: ShapeLike) -> None:
        """Merges `shape` into the static shape.

        Raises: ValueError if the shapes are incompatible.
        """
        try:
            self._shape = merge_dims(self._shape, as_dims(shape))
        except ValueError:
            raise ValueError(
                f"Tensor {self.name!r}: shape {show(as_dims(shape))} contradicts "
                f"{show(self._shape)}, which the graph infers"
            ) from None

    def consumers(self) -> list[Operation]:
        """Returns the operations that read the tensor."""
        return self.op.graph._consumers_of(self)

    def eval(self, feed_dict: FeedDict | None = None, session: SessionLike | None = None) -> Any:
        """Evaluates the tensor in a session.

        Args:
          feed_dict: as in Session.run.
          session: session to use; the default session if None.
        Returns: the value, as Session.run returns it.
        Raises: ValueError if there is no default session, or the session has another graph; as
          Session.run.
        """
        from headrace.graph.framework.default_session import eval_using_default_session

        return eval_using_default_session(self, feed_dict, self.graph, session)

    def __iter__(self) -> Any:
        if self._shape is None:
            raise TypeError(f"Tensor {self.name!r} is not iterable: its rank is unknown")
        if not self._shape:
            raise TypeError(f"Tensor {self.name!r} is not iterable: it is a scalar")
        if self._shape[0] is None:
            raise TypeError(
                f"Tensor {self.name!r} is not iterable: its first size is unknown; "
                "use hr.while_loop"
            )
        return (self[i] for i in range(self._shape[0]))

    def __len__(self) -> int:
        raise TypeError(
            f"len is not well defined for Tensor {self.name!r}: use x.shape[0] or hr.shape(x)[0]"
        )

    def __bool__(self) -> bool:
        raise TypeError(
            f"Using Tensor {self.name!r} as a Python bool is not allowed: its value is known only "
            "in a run. Use `if t is not None:` to test whether it is there, or hr.cond to branch "
            "on its value"
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise NotImplementedError(
            f"Cannot convert a symbolic Tensor ({self.name}) to a numpy array: fetch it with "
            "Session.run"
        )

    def __str__(self) -> str:
        return f'Tensor("{self.name}", shape={self.shape}, dtype={self.dtype.name})'

    def __repr__(self) -> str:
        return f"<hr.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    def __copy__(self) -> Tensor:
        return self

    def __deepcopy__(self, _: Any) -> Tensor:
        return self


class Operation:
    """A node of a graph.

    Attributes:
      graph: the Graph of the operation.
      name: its name, unique in the graph.
      type: name of its op in the catalogue.
      inputs: its input Tensors, with lists flattened.
      control_inputs: the Operations that must run before it.
      device: its requested device, may be partial or "".
    """

    __slots__ = (
        "__dict__",  # attributes that programs set
        "_attrs",
        "_code",
        "_context",
        "_id",
        "_instruction",
        "_outputs",
        "control_inputs",
        "device",
        "graph",
        "inputs",
        "name",
        "type",
    )

    graph: Graph
    name: str
    type: str
    inputs: tuple[Tensor, ...]
    control_inputs: tuple[Operation, ...]
    device: str
    _attrs: AttrSet
    _outputs: Any  # a Tensor if there is one output, a tuple otherwise
    _context: Any  # control-flow context, or None
    _id: int  # position in graph._ops
    _code: CodeType | None  # of the user's frame that created it
    _instruction: int  # in that code; the line is computed on demand

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The output Tensors."""
        outputs = self._outputs
        return outputs if type(outputs) is tuple else (outputs,)

    def get_attr(self, name: str) -> Any:
        """Returns the value of an attribute: a DType, TensorShape, bytes, number, message or list.

        Raises: ValueError for an unknown attribute.
        """
        attrs = self._attrs
        try:
            value = attrs.values[name]
        except KeyError:
            raise ValueError(
                f"Operation {self.name!r} ({self.type}) has no attr named {name!r}: it has "
                f"{', '.join(sorted(attrs.values)) or 'none'}"
            ) from None
        return attributes.public_value(attrs.kind(name), value)

    @property
    def node_def(self) -> Any:
        """The NodeDef message."""
        from headrace.formats.proto.graph_pb2 import NodeDef
        from headrace.graph.framework.graph_codec import node_wire

        return NodeDef.FromString(node_wire(self))

    @property
    def op_def(self) -> Any:
        """The OpDef message of the op or function. Raises: NotFoundError for an unknown op."""
        function = self.graph._get_function(self.type)
        if function is not None:
            return function.definition.signature
        from headrace.formats import op_catalogue

        return op_catalogue.op_def(self.type)

    def colocation_groups(self) -> list[bytes]:
        """Returns the names of its colocation groups, such as b"loc:@op"."""
        groups = self._attrs.values.get("_class")
        if groups:
            listed = attributes.public_value("list(string)", groups)
            found = [g for g in listed if isinstance(g, bytes) and g.startswith(b"loc:@")]
            if found:
                return found
        return [f"loc:@{self.name}".encode()]

    def run(self, feed_dict: FeedDict | None = None, session: SessionLike | None = None) -> None:
        """Runs the operation in a session, by default the default session.

        Raises: ValueError if there is no default session, or the session has another graph; as
          Session.run.
        """
        from headrace.graph.framework.default_session import run_using_default_session

        run_using_default_session(self, feed_dict, self.graph, session)

    # -- source location -------------------------------------------------------------------

    @property
    def source_file(self) -> str | None:
        """The user's source file that created the operation."""
        return None if self._code is None else self._code.co_filename

    @property
    def source_line(self) -> int | None:
        """The line in that file."""
        code = self._code
        if code is None:
            return None
        line = None
        at = self._instruction
        for start, end, number in code.co_lines():
            if start <= at < end:
                return number
            line = number or line
        return line

    @property
    def traceback(self) -> list[tuple[str, int, str, str]]:
        """The user's frame that created it, as [(file, line, function, text)]."""
        if self._code is None:
            return []
        line = self.source_line or 0
        text = linecache.getline(self._code.co_filename, line).strip()
        return [(self._code.co_filename, line, self._code.co_name, text)]

    # -- changes after creation, for control flow and colocation ------------------------------

    def _set_attr(self, name: str, value: Any) -> None:
        """Sets an attribute to a plain value or an AttrValue message."""
        self._attrs = self._attrs.replaced(**{name: attributes.plain_or_raw(value)})
        self._change()

    def _set_attrs(self, values: dict[str, Any]) -> None:
        self._attrs = self._attrs.replaced(**values)
        self._change()

    def _set_device(self, device: Any) -> None:
        from headrace.graph.framework.device_spec import canonical

        self.device = device.to_string() if hasattr(device, "to_string") else canonical(device)
        self._change()

    def _add_control_input(self, op: Operation) -> None:
        self._add_control_inputs((op,))

    def _add_control_inputs(self, ops: Any) -> None:
        new = [op for op in ops if op not in self.control_inputs]
        if new:
            self.control_inputs = (*self.control_inputs, *new)
            self._change()

    def _remove_all_control_inputs(self) -> None:
        self.control_inputs = ()
        self._change()

    def _update_input(self, index: int, tensor: Tensor) -> None:
        inputs = list(self.inputs)
        inputs[index] = tensor
        self.inputs = tuple(inputs)
        self.graph._consumers_upto = 0
        self.graph._consumers.clear()
        self._change()

    def _change(self) -> None:
        """Records a change, so that sessions that ran the node can reject it."""
        self.graph._changed.append(self)

    def _get_control_flow_context(self) -> Any:
        return self._context

    def _set_control_flow_context(self, context: Any) -> None:
        self._context = context

    def values(self) -> tuple[Tensor, ...]:
        """Returns the output Tensors; an old name of `outputs`."""
        return self.outputs

    def __str__(self) -> str:
        return str(self.node_def)

    def __repr__(self) -> str:
        return f"<hr.Operation '{self.name}' type={self.type}>"

    def __copy__(self) -> Operation:
        return self

    def __deepcopy__(self, _: Any) -> Operation:
        return self
