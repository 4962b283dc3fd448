"""Bodies of If, While, Case and For: their functions between Switch, Merge and the ops of loops.

TensorFlow lowers these ops in the same way; a loop then runs as every other while loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from headrace.formats.errors import InvalidArgumentError
from headrace.formats.proto.graph_pb2 import NodeDef
from headrace.formats.proto.op_pb2 import AttrValue, NameAttrList
from headrace.runtime.graph.function_body import CallBody, FunctionLibrary, Type, called_by

_BOOL, _INT32, _INT64, _STRING = 10, 3, 9, 7  # DataType


def call_size(library: FunctionLibrary, node: NodeDef) -> int:
    """The number of nodes that a call brings, with the bodies of the calls in it."""
    return library.size(node.op) + sum(library.size(name) for name in called_by(node))


class Call(NamedTuple):
    """A node that calls functions.

    Attributes:
      node: its NodeDef, with all attributes.
      inputs, outputs: dtypes of its tensors.
      start: as FunctionLibrary.body has it.
    """

    node: NodeDef
    inputs: list[int]
    outputs: list[int]
    start: str


def call_body(library: FunctionLibrary, call: Call) -> CallBody:
    """Makes the nodes that compute a call.

    Raises: NotFoundError for an unknown function; InvalidArgumentError if the call does not fit the
      function's signature.
    """
    lower = _LOWERED.get(call.node.op)
    if lower is not None:
        return lower(library, call)
    name, inputs, outputs, start = call.node.name, call.inputs, call.outputs, call.start
    if library.find(call.node.op) is not None:
        function = NameAttrList(name=call.node.op)
        for key, value in call.node.attr.items():
            function.attr[key].CopyFrom(value)
    else:
        function = call.node.attr["f"].func
    return library.body(name, function, inputs, outputs, start)


def function_key(library: FunctionLibrary, node: NodeDef) -> bytes:
    """Returns the name of the function that a node calls, a line break, and its attributes.

    Returns: b"" for a node that calls several functions.
    """
    if library.find(node.op) is not None:
        values = (node.attr[key].SerializeToString(deterministic=True) for key in sorted(node.attr))
        return node.op.encode() + b"\n" + b"".join(values)
    if node.op not in ("PartitionedCall", "StatefulPartitionedCall"):
        return b""
    function = node.attr["f"].func
    return function.name.encode() + b"\n" + function.SerializeToString(deterministic=True)


class _Lowering:
    """The nodes of one functional op, while they are made."""

    def __init__(self, library: FunctionLibrary, call: Call) -> None:
        self.library = library
        self.call = call
        self.prefix = call.node.name
        self.body = CallBody()
        self.arguments = self.body.add_arguments(self.prefix, call.inputs)
        self.waits: list[str] = []
        if call.start:
            self.body.start = f"{self.prefix}/_start"
            self.waits = [f"^{self.body.start}"]

    def add(self, name: str, op: str, inputs: list[str], **attrs: object) -> str:
        return self.body.add(f"{self.prefix}/{name}", op, inputs, **attrs)

    def add_call(
        self, name: str, function: NameAttrList, inputs: list[str], tin: list[int], tout: list[int]
    ) -> str:
        """Adds a call of a function, whose effects are effects of this node."""
        added = self.add(
            name, "StatefulPartitionedCall", inputs, Tin=tin, Tout=tout, f=function,
            config="", config_proto="", executor_type="",
        )  # fmt: skip
        if self.library.has_effects(function.name):
            self.body.effects.append(added)
        return added

    def func(self, attr: str) -> NameAttrList:
        return self.call.node.attr[attr].func

    def predicate(self, tensor: str, dtype: int) -> str:
        """A scalar bool for a condition of any dtype: non-zero, a non-empty string or tensor."""
        if dtype == _BOOL:
            return tensor
        return self.add("_pred", "ToBool", [tensor], T=Type(dtype))


def _lower_if(library: FunctionLibrary, call: Call) -> CallBody:
    low = _Lowering(library, call)
    branches = [call.node.attr["else_branch"].func, call.node.attr["then_branch"].func]
    pred = low.predicate(low.arguments[0], call.inputs[0])
    return _branches(low, [pred], branches)


def _lower_case(library: FunctionLibrary, call: Call) -> CallBody:
    """A chain of conditions: an index out of range takes the last branch."""
    low = _Lowering(library, call)
    branches = list(call.node.attr["branches"].list.func)
    if len(branches) == 1:
        return _call_behind_first(low, branches[0])
    preds = []
    for k in range(len(branches) - 1):
        number = _scalar(_INT32, k)
        const = low.add(f"_index{k}", "Const", low.waits, dtype=Type(_INT32), value=number)
        preds.append(low.add(f"_is{k}", "NotEqual", [low.arguments[0], const], T=Type(_INT32)))
    # Each condition is true if a later branch is taken, so that branches keep their order.
    return _branches(low, preds, branches)


def _branches(low: _Lowering, preds: list[str], branches: list[NameAttrList]) -> CallBody:
    """Branch k runs if preds[:k] are true and preds[k] is false, the last one if all are true."""
    call = low.call
    tin, tout = call.inputs[1:], call.outputs
    data = low.arguments[1:]
    outputs: list[list[str]] = [[] for _ in tout]
    finished = []
    pivot = ""  # alive if no branch so far is taken
    for k, function in enumerate(branches):
        if k < len(preds):
            pred = preds[k]
            if pivot:
                pred = low.add(f"_later{k}", "Identity", [preds[k], f"^{pivot}"], T=Type(_BOOL))
            pivots = low.add(f"_pivot{k}", "Switch", [pred, pred, *low.waits], T=Type(_BOOL))
            switches = [
                low.add(f"_switch{k}_{i}", "Switch", [tensor, pred], T=Type(dtype))
                for i, (tensor, dtype) in enumerate(zip(data, tin, strict=True))
            ]
            taken = [f"{switch}:0" for switch in switches]
            data = [f"{switch}:1" for switch in switches]
            chosen = low.add(f"_taken{k}", "Identity", [f"{pivots}:0"], T=Type(_BOOL))
            pivot = low.add(f"_not_taken{k}", "Identity", [f"{pivots}:1"], T=Type(_BOOL))
        else:
            taken, chosen = data, pivot
        waits = [f"^{chosen}"] if not taken or call.start == "all" else []
        called = low.add_call(f"_branch{k}", function, [*taken, *waits], tin, tout)
        for i in range(len(tout)):
            outputs[i].append(f"{called}:{i}")
        ends = [f"^{called}"] if low.library.has_effects(function.name) else []
        finished.append(low.add(f"_finished{k}", "Identity", [chosen, *ends], T=Type(_BOOL)))
    merged = [
        low.add(f"_merge{i}", "Merge", tensors, T=Type(dtype), N=len(tensors))
        for i, (tensors, dtype) in enumerate(zip(outputs, tout, strict=True))
    ]
    low.body.outputs = merged
    done = low.add("_finished", "Merge", finished, T=Type(_BOOL), N=len(finished))
    low.body.done = low.add("_done", "NoOp", [f"^{done}"])
    return low.body


def _lower_while(library: FunctionLibrary, call: Call) -> CallBody:
    low = _Lowering(library, call)
    cond, body = low.func("cond"), low.func("body")

    def condition(variables: list[str]) -> str:
        called = low.add_call("_cond", cond, variables, call.inputs, [_cond_dtype(low, cond)])
        pred = low.predicate(called, _cond_dtype(low, cond))
        waits = [f"^{called}"] if library.has_effects(cond.name) else []
        return low.add("_loop_cond", "LoopCond", [pred, *waits])

    def step(variables: list[str]) -> tuple[str, list[str]]:
        called = low.add_call("_body", body, variables, call.inputs, call.inputs)
        return called, [f"{called}:{i}" for i in range(len(variables))]

    return _loop(low, low.arguments, call.inputs, condition, step, library.has_effects(body.name))


def _cond_dtype(low: _Lowering, cond: NameAttrList) -> int:
    definition = low.library.find(cond.name)
    outputs = definition.signature.output_arg if definition is not None else ()
    if definition is not None and len(outputs) != 1:
        raise InvalidArgumentError(
            None, None,
            f"{low.call.node.op} '{low.prefix}': the condition '{cond.name}' has {len(outputs)} "
            "outputs, not one", node_name=low.prefix,
        )  # fmt: skip
    return outputs[0].type or _BOOL if outputs else _BOOL


def _lower_for(library: FunctionLibrary, call: Call) -> CallBody:
    """A loop over the numbers from start to limit, in steps of delta, which may be negative."""
    low = _Lowering(library, call)
    # A vector would be true as the condition of the loop for ever.
    low.arguments[:3] = [
        low.add(f"_scalar_{name}", "EnsureShape", [tensor], T=Type(_INT32), shape=_scalar_shape())
        for name, tensor in zip(("start", "limit", "delta"), low.arguments[:3], strict=True)
    ]
    start, delta = low.arguments[0], low.arguments[2]
    body = low.func("body")
    # The loop counts its iterations down: a comparison with the limit would overflow at its ends.
    one = low.add("_one", "Const", low.waits, dtype=Type(_INT64), value=_scalar(_INT64, 1))
    count, check = _iterations(low, one)
    low.waits.append(f"^{check}")

    def condition(variables: list[str]) -> str:
        more = low.add("_more", "ToBool", [variables[1]], T=Type(_INT64))
        return low.add("_loop_cond", "LoopCond", [more])

    def step(variables: list[str]) -> tuple[str, list[str]]:
        tin = [_INT32, *call.inputs[3:]]
        called = low.add_call("_body", body, [variables[0], *variables[4:]], tin, call.inputs[3:])
        number, left, by, unit = variables[:4]
        following = low.add("_add", "AddV2", [number, by], T=Type(_INT32))
        less = low.add("_left", "Sub", [left, unit], T=Type(_INT64))
        results = [f"{called}:{i}" for i in range(len(call.inputs) - 3)]
        return called, [following, less, by, unit, *results]

    variables = [start, count, delta, one, *low.arguments[3:]]
    dtypes = [_INT32, _INT64, _INT32, _INT64, *call.inputs[3:]]
    body_made = _loop(low, variables, dtypes, condition, step, library.has_effects(body.name))
    body_made.outputs = body_made.outputs[4:]
    return body_made


def _iterations(low: _Lowering, one: str) -> tuple[str, str]:
    """Adds the number of iterations of a For, and an Assert that it ends.

    A For counts towards its limit, or begins there.
    """
    wide = Type(_INT64)
    start, limit, delta = (
        low.add(f"_{name}", "Cast", [tensor], SrcT=Type(_INT32), DstT=wide)
        for name, tensor in zip(("from", "to", "by"), low.arguments[:3], strict=True)
    )
    way = low.add("_way", "Sub", [limit, start], T=wide)
    sign = low.add("_sign", "Sign", [delta], T=wide)
    distance = low.add("_distance", "Mul", [way, sign], T=wide)
    # Where delta is 0, the distance is 0, and so is the number of iterations.
    size = low.add("_size", "Maximum", [low.add("_abs", "Abs", [delta], T=wide), one], T=wide)
    rounded = low.add(
        "_up", "Sub", [low.add("_sum", "AddV2", [distance, size], T=wide), one], T=wide
    )
    count = low.add("_count", "FloorDiv", [rounded, size], T=wide)
    zero = low.add("_zero", "ZerosLike", [delta], T=wide)
    towards = low.add("_towards", "GreaterEqual", [distance, zero], T=wide)
    moves = low.add("_moves", "NotEqual", [delta, zero], T=wide)
    there = low.add("_there", "Equal", [start, limit], T=wide)
    ends = low.add("_ends", "LogicalOr", [moves, there])
    text = low.add(
        "_message", "Const", low.waits,
        dtype=Type(_STRING), value=_scalar(_STRING, b"Invalid start/limit/delta: "),
    )  # fmt: skip
    check = low.add(
        "_check", "Assert",
        [low.add("_valid", "LogicalAnd", [towards, ends]), text, *low.arguments[:3]],
        T=[_STRING, _INT32, _INT32, _INT32], summarize=3,
    )  # fmt: skip
    return count, check


def _scalar_shape() -> AttrValue:
    attr = AttrValue()
    attr.shape.SetInParent()
    return attr


def _scalar(dtype: int, value: int | bytes) -> AttrValue:
    attr = AttrValue()
    attr.tensor.dtype = dtype
    attr.tensor.tensor_shape.SetInParent()
    values = {
        _BOOL: attr.tensor.bool_val, _INT32: attr.tensor.int_val, _INT64: attr.tensor.int64_val,
        _STRING: attr.tensor.string_val,
    }  # fmt: skip
    values[dtype].append(value)
    return attr


def _loop(
    low: _Lowering,
    variables: list[str],
    dtypes: list[int],
    condition: Callable[[list[str]], str],
    step: Callable[[list[str]], tuple[str, list[str]]],
    has_effects: bool,
) -> CallBody:
    parallel = low.call.node.attr["parallel_iterations"].i or 10
    if not variables:  # a loop needs a value that goes round
        none = _scalar(_BOOL, False)
        variables = [low.add("_nothing", "Const", low.waits, dtype=Type(_BOOL), value=none)]
        dtypes = [_BOOL]
        plain_condition, plain_step = condition, step

        def condition(values: list[str]) -> str:
            return plain_condition([])

        def step(values: list[str]) -> tuple[str, list[str]]:
            return plain_step([])[0], values

    merges = []
    for i, (tensor, dtype) in enumerate(zip(variables, dtypes, strict=True)):
        enter = low.add(
            f"_enter{i}", "Enter", [tensor, *low.waits], T=Type(dtype),
            frame_name=f"{low.prefix}/_frame", is_constant=False, parallel_iterations=parallel,
        )  # fmt: skip
        merges.append(
            low.add(f"_merge{i}", "Merge", [enter, f"{low.prefix}/_next{i}"], T=Type(dtype), N=2)
        )
    loop_cond = condition(merges)
    switches = [
        low.add(f"_switch{i}", "Switch", [merge, loop_cond], T=Type(dtype))
        for i, (merge, dtype) in enumerate(zip(merges, dtypes, strict=True))
    ]
    identities = [
        low.add(f"_value{i}", "Identity", [f"{switch}:1"], T=Type(dtype))
        for i, (switch, dtype) in enumerate(zip(switches, dtypes, strict=True))
    ]
    called, following = step(identities)
    waits = [f"^{called}"] if has_effects else []
    for i, (tensor, dtype) in enumerate(zip(following, dtypes, strict=True)):
        low.add(f"_next{i}", "NextIteration", [tensor, *waits], T=Type(dtype))
    exits = [
        low.add(f"_exit{i}", "Exit", [f"{switch}:0"], T=Type(dtype))
        for i, (switch, dtype) in enumerate(zip(switches, dtypes, strict=True))
    ]
    low.body.outputs = exits if low.call.outputs else []
    low.body.done = low.add("_done", "NoOp", [f"^{exit_}" for exit_ in exits[:1]])
    return low.body


def _call_behind_first(low: _Lowering, function: NameAttrList) -> CallBody:
    """A call with all inputs but the first, which chooses nothing."""
    tin, tout = low.call.inputs[1:], low.call.outputs
    waits = low.waits if low.call.start == "all" or not tin else []
    called = low.add_call("_call", function, [*low.arguments[1:], *waits], tin, tout)
    low.body.outputs = [f"{called}:{i}" for i in range(len(tout))]
    low.body.done = low.add("_done", "NoOp", [f"^{called}"])
    return low.body


def _lower_remote_call(library: FunctionLibrary, call: Call) -> CallBody:
    """A call on the device of the node; the target, input 0, is not read."""
    low = _Lowering(library, call)
    return _call_behind_first(low, low.func("f"))


def _symbolic_gradient(library: FunctionLibrary, call: Call) -> CallBody:
    """A call of the gradient function, which the package that differentiates graphs makes."""
    function = call.node.attr["f"].func
    name = library.gradient_of(function)
    gradient = NameAttrList(name=name)
    for key, value in function.attr.items():
        gradient.attr[key].CopyFrom(value)
    return library.body(call.node.name, gradient, call.inputs, call.outputs, call.start)


_LOWERED: dict[str, Callable[[FunctionLibrary, Call], CallBody]] = {
    "If": _lower_if,
    "StatelessIf": _lower_if,
    "Case": _lower_case,
    "StatelessCase": _lower_case,
    "While": _lower_while,
    "StatelessWhile": _lower_while,
    "For": _lower_for,
    "RemoteCall": _lower_remote_call,
    "SymbolicGradient": _symbolic_gradient,
}
