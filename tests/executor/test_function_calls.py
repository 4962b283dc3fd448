"""Calls of functions that a GraphDef's library defines, and the ops that call functions.

Modules: graph/expand_calls, graph/function_body, graph/effect_ends, graph/functional_ops.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from function_graphs import (
    BOOL,
    FLOAT,
    INT32,
    RESOURCE,
    FunctionGraph,
    Placeholder,
    T,
    dtype,
    func,
)

from headrace.formats.errors import InvalidArgumentError, NotFoundError, ResourceExhaustedError
from headrace.formats.proto.op_pb2 import AttrValue


def library() -> FunctionGraph:
    """Functions of one or two floats."""
    graph = FunctionGraph()
    two = ("two", "Const", [], {"dtype": dtype(FLOAT), "value": np.float32(2)})
    graph.function(
        "Double", {"x": FLOAT}, {"y": FLOAT}, [two, ("m", "Mul", ["x", "two:output:0"], T)],
        {"y": "m:z:0"},
    )  # fmt: skip
    graph.function(
        "Both", {"x": FLOAT, "y": FLOAT}, {"sum": FLOAT, "first": FLOAT},
        [("s", "Add", ["x", "y"], T)], {"sum": "s:z:0", "first": "x"},
    )  # fmt: skip
    graph.function(
        "Nested", {"x": FLOAT}, {"y": FLOAT},
        [("d", "Double", ["x"]), ("b", "Both", ["d:y:0", "x"])], {"y": "b:sum:0"},
    )  # fmt: skip
    graph.function("Seven", {"x": FLOAT}, {"y": FLOAT}, [
        ("c", "Const", [], {"dtype": dtype(FLOAT), "value": np.float32(7)}),
    ], {"y": "c:output:0"})  # fmt: skip
    graph.const("three", 3.0).const("four", 4.0)
    return graph


def test_a_call_by_the_functions_name() -> None:
    graph = library().add("call", "Both", "three", "four").add("again", "Nested", "call")
    assert graph.run("call:0", "call:1", "again:0") == [7, 3, 21]


@pytest.mark.parametrize("op", ["PartitionedCall", "StatefulPartitionedCall"])
def test_a_call_by_an_attribute(op: str) -> None:
    graph = library().add("call", op, "three", "four", Tin=[1, 1], Tout=[1, 1], f=func("Both"))
    assert graph.run("call:1", "call:0") == [3, 7]


def test_attributes_of_a_call_reach_the_body() -> None:
    graph = FunctionGraph().function(
        "Cast", {"x": "A"}, {"y": "B"},
        [("c", "Cast", ["x"], {"SrcT": Placeholder("A"), "DstT": Placeholder("B")})],
        {"y": "c:y:0"},
    )  # fmt: skip
    with pytest.raises(InvalidArgumentError, match="an op with the same name already exists"):
        graph.const("x", 2.5).run("x:0")
    graph = FunctionGraph().function(
        "To", {"x": "A"}, {"y": "B"},
        [("c", "Cast", ["x"], {"SrcT": Placeholder("A"), "DstT": Placeholder("B")})],
        {"y": "c:y:0"},
    )  # fmt: skip
    graph.const("x", 2.5).add("call", "To", "x", A=dtype(FLOAT), B=dtype(INT32))
    assert graph.run("call:0") == [2]
    graph.call("by_attr", func("To", A=dtype(FLOAT), B=dtype(INT32)), ["x"], [FLOAT], [INT32])
    assert graph.run("by_attr:0") == [2]
    graph.call("without", "To", ["x"], [FLOAT], [INT32])
    with pytest.raises(InvalidArgumentError, match="'To', called by 'without': attribute 'A'"):
        graph.run("without:0")


def test_lists_of_tensors_pass_through_a_call() -> None:
    graph = FunctionGraph().function(
        "Every", {"x": "*Ts"}, {"y": "*Ts"},
        [("i", "IdentityN", ["x"], {"T": Placeholder("Ts")})], {"y": "i:output"},
    )  # fmt: skip
    graph.const("a", 1.0).const("b", 2).call(
        "c", func("Every", Ts=[FLOAT, INT32]), ["a", "b"], [FLOAT, INT32], [FLOAT, INT32]
    )
    assert graph.run("c:0", "c:1") == [1, 2]


def test_a_node_may_be_named_as_a_tensor_of_a_list_argument_would_be() -> None:
    graph = library().function(
        "AddTimes", {"x": "*types"}, {"y": FLOAT},
        [("x_1", "Add", ["x:0", "x:1"], T), ("y", "Mul", ["x_1:z:0", "x:1"], T)], {"y": "y:z:0"},
    )  # fmt: skip
    graph.call("call", "AddTimes", ["three", "four"], [FLOAT, FLOAT], [FLOAT])
    graph.graph.node[-1].attr["f"].func.attr["types"].list.type.extend([FLOAT, FLOAT])
    assert graph.run("call:0") == [28]


def test_outputs_of_calls_and_tensors_before_them_can_be_fed() -> None:
    graph = library().add("inner", "Double", "three").add("outer", "Nested", "inner")
    assert graph.run("outer:0") == [18]
    assert graph.run("outer:0", feeds={"inner:0": np.float32(1)}) == [3]
    assert graph.run("outer:0", feeds={"three:0": np.float32(1)}) == [6]
    assert graph.run("outer:0", "inner:0", feeds={"outer:0": np.float32(5)}) == [5, 6]


def test_nodes_of_a_body_have_no_public_names() -> None:
    graph = library().add("call", "Nested", "three")
    graph.run("call:0")
    with pytest.raises(NotFoundError, match="no node 'call/d' in the graph"):
        graph.run("call/d:0")
    graph.const("call/d", 1.0)  # a user's node of such a name is another one
    assert graph.run("call/d:0", "call:0") == [1, 9]


def test_an_error_in_a_body_names_the_call_and_the_node() -> None:
    graph = FunctionGraph().function(
        "Bad", {"x": FLOAT}, {"y": FLOAT}, [("r", "CheckNumerics", ["x"], T | {"message": "m"})],
        {"y": "r:output:0"},
    )  # fmt: skip
    graph.const("x", float("nan")).add("call", "Bad", "x")
    with pytest.raises(InvalidArgumentError, match="call/r.*Tensor had NaN") as caught:
        graph.run("call:0")
    assert caught.value.node_name == "call/r"


# ---- conditions and loops ------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["If", "StatelessIf"])
@pytest.mark.parametrize(
    "cond", [True, False, 0, 3, 0.0, -0.0, 2.5, np.array([], np.float32), np.array([0.0])]
)
def test_if_runs_one_branch(op: str, cond: Any) -> None:
    graph = library().const("cond", cond)
    kind = graph.graph.node[-1].attr["dtype"]
    branches: Any = {"then_branch": func("Nested"), "else_branch": func("Seven")}
    graph.add("if", op, "cond", "three", Tcond=kind, Tin=[1], Tout=[1], **branches)
    array = np.asarray(cond)
    want = bool(array) if array.ndim == 0 else array.size > 0
    assert graph.run("if:0") == [9 if want else 7]


@pytest.mark.parametrize("index", [0, 1, 2, 3, -1, 2**31 - 1])
def test_case_runs_the_branch_of_its_index_or_the_last(index: int) -> None:
    graph = library().const("index", index)
    branches = [func("Double"), func("Seven"), func("Nested")]
    graph.add("case", "Case", "index", "three", Tin=[1], Tout=[1], branches=branches)
    assert graph.run("case:0") == [[6, 7, 9][index if index in (0, 1) else 2]]


@pytest.mark.parametrize("op", ["Case", "StatelessCase"])
def test_a_case_of_one_branch_calls_it(op: str) -> None:
    graph = library().const("index", 5)
    graph.add("case", op, "index", "three", Tin=[1], Tout=[1], branches=[func("Double")])
    assert graph.run("case:0") == [6]
    graph.function("Four", {}, {"y": FLOAT}, [
        ("c", "Const", [], {"dtype": dtype(FLOAT), "value": np.float32(4)}),
    ], {"y": "c:output:0"})  # fmt: skip
    graph.add("none", op, "index", "^case", Tin=[1][:0], Tout=[1], branches=[func("Four")])
    assert graph.run("none:0") == [4]


def test_the_effects_of_a_case_of_one_branch_run() -> None:
    graph = counting().const("index", 0)
    graph.add("case", "Case", "index", "v", "four", Tin=[RESOURCE, FLOAT], Tout=[FLOAT],
              branches=[func("Count")])  # fmt: skip
    graph.add("after", "ReadVariableOp", "v", "^case", dtype=dtype(FLOAT))
    graph.run(targets=["init"])
    assert graph.run("after:0") == [7]


def while_graph(limit: int) -> FunctionGraph:
    graph = library()
    one = ("one", "Const", [], {"dtype": dtype(INT32), "value": np.int32(1)})
    end = ("end", "Const", [], {"dtype": dtype(INT32), "value": np.int32(limit)})
    graph.function(
        "Below", {"i": INT32, "x": FLOAT}, {"go": BOOL},
        [end, ("l", "Less", ["i", "end:output:0"], {"T": dtype(INT32)})], {"go": "l:z:0"},
    )  # fmt: skip
    graph.function(
        "Step", {"i": INT32, "x": FLOAT}, {"i_": INT32, "x_": FLOAT},
        [one, ("a", "Add", ["i", "one:output:0"], {"T": dtype(INT32)}), ("d", "Double", ["x"])],
        {"i_": "a:z:0", "x_": "d:y:0"},
    )  # fmt: skip
    return graph.const("zero", 0)


@pytest.mark.parametrize("op", ["While", "StatelessWhile"])
@pytest.mark.parametrize("limit", [0, 1, 10])
def test_while_runs_its_body(op: str, limit: int) -> None:
    graph = while_graph(limit)
    functions: Any = {"cond": func("Below"), "body": func("Step")}
    graph.add("while", op, "zero", "three", T=[INT32, FLOAT], **functions)
    assert graph.run("while:0", "while:1") == [limit, 3 * 2.0**limit]


def test_a_loop_in_a_function_in_a_loop() -> None:
    graph = while_graph(3)
    inner = {"T": [INT32, FLOAT], "cond": func("Below"), "body": func("Step")}
    graph.function(
        "Outer", {"i": INT32, "x": FLOAT}, {"i_": INT32, "x_": FLOAT},
        [
            ("zero", "Const", [], {"dtype": dtype(INT32), "value": np.int32(0)}),
            ("w", "While", ["zero:output:0", "x"], inner),
            ("s", "Step", ["i", "w:output:1"]),
        ],
        {"i_": "s:i_:0", "x_": "s:x_:0"},
    )  # fmt: skip
    functions: Any = {"cond": func("Below"), "body": func("Outer")}
    graph.add("while", "While", "zero", "three", T=[INT32, FLOAT], **functions)
    assert graph.run("while:1") == [3 * 2.0**12]


def for_graph(start: int, limit: int, delta: int) -> FunctionGraph:
    graph = FunctionGraph().function(
        "Step", {"i": INT32, "x": INT32}, {"y": INT32},
        [("ten", "Const", [], {"dtype": dtype(INT32), "value": np.int32(10)}),
         ("m", "Mul", ["x", "ten:output:0"], {"T": dtype(INT32)}),
         ("s", "AddV2", ["m:z:0", "i"], {"T": dtype(INT32)})],
        {"y": "s:z:0"},
    )  # fmt: skip
    graph.const("start", start).const("limit", limit).const("delta", delta).const("x", 1)
    return graph.add("for", "For", "start", "limit", "delta", "x", T=[INT32], body=func("Step"))


@pytest.mark.parametrize(
    ("start", "limit", "delta"),
    [
        (0, 5, 1),
        (0, 5, 2),
        (5, 0, -2),
        (3, 3, 1),
        (-4, 4, 3),
        (0, -(2**31), -(2**30)),
        (0, 2**31 - 1, 2**30),
        (-(2**31), 2**31 - 1, 2**31 - 1),
        (2**31 - 1, -(2**31), -(2**31)),
    ],
)
def test_for_counts_up_and_down(start: int, limit: int, delta: int) -> None:
    want = np.int32(1)
    for i in range(start, limit, delta):
        with np.errstate(over="ignore"):
            want = np.int32(10) * want + np.int32(i)
    assert for_graph(start, limit, delta).run("for:0") == [want]


def test_a_for_that_does_not_move_or_moves_away() -> None:
    assert for_graph(3, 3, 0).run("for:0") == [1]
    for start, limit, delta in [(0, 5, 0), (0, 5, -1), (5, 0, 1)]:
        with pytest.raises(InvalidArgumentError, match="Invalid start/limit/delta: "):
            for_graph(start, limit, delta).run("for:0")


# ---- effects -------------------------------------------------------------------------------------


def counting() -> FunctionGraph:
    """A function that adds its argument to a variable and returns the argument."""
    graph = library()
    graph.function(
        "Count", {"v": RESOURCE, "x": FLOAT}, {"y": FLOAT},
        [("add", "AssignAddVariableOp", ["v", "x"], {"dtype": dtype(FLOAT)})],
        {"y": "x"}, control_ret=["add"],
    )  # fmt: skip
    graph.add("v", "VarHandleOp", dtype=dtype(FLOAT), shape=_scalar())
    graph.add("init", "AssignVariableOp", "v", "three", dtype=dtype(FLOAT))
    return graph.add("read", "ReadVariableOp", "v", dtype=dtype(FLOAT))


def _scalar() -> AttrValue:
    attr = AttrValue()
    attr.shape.SetInParent()
    return attr


def test_effects_of_a_call_run_though_nothing_reads_its_output() -> None:
    graph = counting().call("call", "Count", ["v", "four"], [RESOURCE, FLOAT], [FLOAT])
    graph.run(targets=["init"])
    graph.run(targets=["call"])
    assert graph.run("read:0") == [7]
    assert graph.run("call:0") == [4]
    assert graph.run("read:0") == [11]


def test_effects_of_a_function_run_though_an_attribute_names_a_pure_one() -> None:
    graph = counting()
    graph.function(
        "Outer", {"v": RESOURCE, "x": FLOAT}, {"y": FLOAT},
        [("count", "Count", ["v", "x"], {"f": func("Double")})], {"y": "x"},
    )  # fmt: skip
    graph.call("call", "Outer", ["v", "four"], [RESOURCE, FLOAT], [FLOAT])
    graph.run(targets=["init"])
    assert graph.run("call:0") == [4]
    assert graph.run("read:0") == [7]


def test_control_edges_wait_for_the_effects_of_a_call() -> None:
    graph = counting().call("call", "Count", ["v", "four"], [RESOURCE, FLOAT], [FLOAT])
    graph.add("after", "ReadVariableOp", "v", "^call", dtype=dtype(FLOAT))
    graph.call("second", "Count", ["v", "after"], [RESOURCE, FLOAT], [FLOAT])
    graph.add("last", "ReadVariableOp", "v", "^second", dtype=dtype(FLOAT))
    for _ in range(20):
        graph.run(targets=["init"])
        assert graph.run("last:0", "after:0") == [14, 7]


def test_a_call_waits_for_its_control_edges() -> None:
    graph = counting().add("set", "AssignVariableOp", "v", "four", dtype=dtype(FLOAT))
    graph.function(
        "Read", {"v": RESOURCE}, {"y": FLOAT},
        [("r", "ReadVariableOp", ["v"], {"dtype": dtype(FLOAT)})], {"y": "r:value:0"},
    )  # fmt: skip
    graph.call("call", "Read", ["v", "^set"], [RESOURCE], [FLOAT])
    for _ in range(20):
        graph.run(targets=["init"])
        assert graph.run("call:0") == [4]


@pytest.mark.parametrize("cond", [True, False])
def test_only_the_effects_of_the_taken_branch_run(cond: bool) -> None:
    graph = counting().function(
        "Nothing", {"v": RESOURCE, "x": FLOAT}, {"y": FLOAT}, [], {"y": "x"}
    )
    graph.const("cond", cond)
    branches: Any = {"then_branch": func("Count"), "else_branch": func("Nothing")}
    graph.add(
        "if", "If", "cond", "v", "four", Tcond=dtype(BOOL), Tin=[RESOURCE, FLOAT], Tout=[FLOAT],
        **branches,
    )  # fmt: skip
    graph.add("after", "ReadVariableOp", "v", "^if", dtype=dtype(FLOAT))
    for _ in range(10):
        graph.run(targets=["init"])
        assert graph.run("after:0") == [7 if cond else 3]


def test_effects_of_a_loops_body_run_in_each_iteration() -> None:
    graph = counting()
    signature = {"v": RESOURCE, "i": FLOAT}
    graph.function(
        "Below", signature, {"go": BOOL},
        [("end", "Const", [], {"dtype": dtype(FLOAT), "value": np.float32(50)}),
         ("l", "Less", ["i", "end:output:0"], T)], {"go": "l:z:0"},
    )  # fmt: skip
    graph.function(
        "Body", signature, {"v_": RESOURCE, "i_": FLOAT},
        [("one", "Const", [], {"dtype": dtype(FLOAT), "value": np.float32(1)}),
         ("c", "Count", ["v", "one:output:0"]), ("a", "Add", ["i", "one:output:0"], T)],
        {"v_": "v", "i_": "a:z:0"},
    )  # fmt: skip
    functions: Any = {"cond": func("Below"), "body": func("Body")}
    graph.const("zero", 0.0).add("w", "While", "v", "zero", T=[RESOURCE, FLOAT], **functions)
    graph.add("after", "ReadVariableOp", "v", "^w", dtype=dtype(FLOAT))
    for _ in range(10):
        graph.run(targets=["init"])
        assert graph.run("after:0") == [53]


# ---- what is rejected ----------------------------------------------------------------------------


def test_a_recursive_function_is_rejected() -> None:
    graph = library().function(
        "Again", {"x": FLOAT}, {"y": FLOAT}, [("n", "Once", ["x"])], {"y": "n:y:0"}
    )
    graph.function("Once", {"x": FLOAT}, {"y": FLOAT}, [("n", "Again", ["x"])], {"y": "n:y:0"})
    graph.add("call", "Once", "three")
    want = "Function 'Once' is recursive: calls Once -> Again -> Once; a function cannot call"
    with pytest.raises(InvalidArgumentError, match=want) as caught:
        graph.run("call:0")
    assert caught.value.node_name == "call"
    assert graph.run("three:0") == [3]


def test_functions_that_grow_without_end_are_rejected() -> None:
    graph = library()
    graph.function("F0", {"x": FLOAT}, {"y": FLOAT}, [("d", "Double", ["x"])], {"y": "d:y:0"})
    for k in range(1, 40):
        nodes = [("a", f"F{k - 1}", ["x"]), ("b", f"F{k - 1}", ["a:y:0"])]
        graph.function(f"F{k}", {"x": FLOAT}, {"y": FLOAT}, nodes, {"y": "b:y:0"})
    graph.add("call", "F39", "three").add("small", "F5", "three")
    assert graph.run("small:0") == [3 * 2.0**32]
    with pytest.raises(ResourceExhaustedError, match="the bodies of the graph's calls have more"):
        graph.run("call:0")
    assert graph.run("small:0") == [3 * 2.0**32]


@pytest.mark.parametrize("depth", [150, 250, 5000])
def test_calls_nest_two_hundred_deep(depth: int) -> None:
    graph = library()
    graph.function("F0", {"x": FLOAT}, {"y": FLOAT}, [("d", "Double", ["x"])], {"y": "d:y:0"})
    for k in range(1, depth):
        nodes = [("a", f"F{k - 1}", ["x"])]
        graph.function(f"F{k}", {"x": FLOAT}, {"y": FLOAT}, nodes, {"y": "a:y:0"})
    graph.add("call", f"F{depth - 1}", "three")
    if depth < 200:
        assert graph.run("call:0") == [6]
    else:
        with pytest.raises(
            InvalidArgumentError, match="'call.*: calls of functions nest too deeply"
        ):
            graph.run("call:0")


@pytest.mark.parametrize(
    ("inputs", "tin", "tout", "message"),
    [
        (["three"], [1], [1, 1], "'Both', called by 'c': Expects 2 arguments, but 1 is provided"),
        (
            ["three", "i"],
            [1, 3],
            [1, 1],
            r"Expected input\[1\] to be float, but the call has int32",
        ),
        (["three", "four"], [1, 1], [1], "returns 2 values, the call has 1 outputs"),
        (
            ["three", "four"],
            [1, 1],
            [1, 3],
            r"Expected output\[1\] to be float, but the call has i",
        ),
    ],
)
def test_a_call_must_fit_the_function(
    inputs: list[str], tin: list[int], tout: list[int], message: str
) -> None:
    graph = library().const("i", 1).call("c", "Both", inputs, tin, tout)
    with pytest.raises(InvalidArgumentError, match=message):
        graph.run("c:0")


def test_a_function_must_return_what_it_declares() -> None:
    graph = library().function(
        "Lies", {"x": FLOAT}, {"y": 2}, [("n", "Neg", ["x"], T)], {"y": "n:y:0"}
    )
    graph.call("c", "Lies", ["three"], [FLOAT], [2])
    for _ in range(2):
        with pytest.raises(InvalidArgumentError, match="'c': output 0 is declared as double, but"):
            graph.run("c:0")
    assert graph.run("three:0") == [3]


def test_a_function_that_is_not_there() -> None:
    graph = library().call("c", "None", ["three"], [1], [1])
    with pytest.raises(NotFoundError, match=r"Function None is not defined."):
        graph.run("c:0")


@pytest.mark.parametrize(
    ("nodes", "ret", "message"),
    [
        ([], {}, "Return value 'y' is missing"),
        ([], {"y": "nowhere"}, "node 'y': input nowhere is not found"),
        ([("n", "Neg", ["z"], T)], {"y": "n:y:0"}, "node 'n': input z is not found"),
        ([("n", "Neg", ["x"], T)], {"y": "n:y:1"}, "node 'y': input n:y:1 is not found"),
        ([("n", "Neg", ["x", "^m"], T)], {"y": "n:y:0"}, "names no node of the graph"),
        ([("n", "Neg", ["x", "x"], T)], {"y": "n:y:0"}, "the op takes 1 inputs, 2 are given"),
        ([("n", "Neg", ["m:y:0"], T), ("m", "Neg", ["n:y:0"], T)], {"y": "n:y:0"}, "cycle"),
        ([("n", "Neg", ["x"], T), ("n", "Neg", ["x"], T)], {"y": "n:y:0"}, "name is taken"),
        ([("n", "Unknown", ["x"], T)], {"y": "n:y:0"}, "no op named 'Unknown'"),
    ],
)
def test_a_malformed_function_is_an_op_error(nodes: list[Any], ret: Any, message: str) -> None:
    graph = library().function("Bad", {"x": FLOAT}, {"y": FLOAT}, nodes, ret)
    graph.call("c", "Bad", ["three"], [1], [1])
    for _ in range(2):
        with pytest.raises((InvalidArgumentError, NotFoundError), match=message):
            graph.run("c:0")
    assert graph.run("three:0") == [3]


# ---- outputs that nothing reads ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "dims", "want"), [(FLOAT, [2, -1], (2, 0)), (INT32, None, ()), (7, [1], (1,))]
)
def test_a_fake_output_is_zeros_of_a_fitting_shape(number: int, dims: Any, want: Any) -> None:
    attr = AttrValue()
    attr.shape.unknown_rank = dims is None
    for size in dims or ():
        attr.shape.dim.add(size=size)
    (value,) = FunctionGraph().add("f", "FakeParam", dtype=dtype(number), shape=attr).run("f:0")
    assert np.shape(value) == want
    assert not np.any(value)
