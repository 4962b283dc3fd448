"""Functions with random faults end in an OpError, and sessions that threads extend stay whole."""

from __future__ import annotations

import contextlib
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from function_graphs import BOOL, FLOAT, INT32, FunctionGraph, T, dtype, func

import headrace.graph as hr
from headrace.formats.errors import OpError
from headrace.formats.proto.graph_pb2 import FunctionDef, GraphDef
from headrace.formats.proto.run_pb2 import RunOptions
from headrace.formats.services import SESSIONS, find_service

_OPS = "Switch Merge Enter Exit NextIteration LoopCond _Arg _Retval NoOp Const While If".split()
_INPUTS = ["x", "", "^", ":0", "a:b:c", "^x", "m:z:99", "two:output:0", "^m", "a:b:-1"]


def number(value: float, kind: int = FLOAT) -> dict[str, Any]:
    array = np.float32(value) if kind == FLOAT else np.int32(value)
    return {"dtype": dtype(kind), "value": array}


def graph_of_functions() -> FunctionGraph:
    """A call, a condition and a loop over functions."""
    graph = FunctionGraph()
    graph.function(
        "Double", {"x": FLOAT}, {"y": FLOAT},
        [("two", "Const", [], number(2.0)), ("m", "Mul", ["x", "two:output:0"], T)],
        {"y": "m:z:0"},
    )  # fmt: skip
    graph.function(
        "Twice", {"x": FLOAT}, {"y": FLOAT},
        [("a", "Double", ["x"]), ("b", "Double", ["a:y:0"])], {"y": "b:y:0"},
    )  # fmt: skip
    graph.function(
        "Below", {"i": INT32, "x": FLOAT}, {"go": BOOL},
        [("end", "Const", [], number(5, INT32)),
         ("l", "Less", ["i", "end:output:0"], {"T": dtype(INT32)})], {"go": "l:z:0"},
    )  # fmt: skip
    graph.function(
        "Step", {"i": INT32, "x": FLOAT}, {"i_": INT32, "x_": FLOAT},
        [("one", "Const", [], number(1, INT32)), ("d", "Double", ["x"]),
         ("a", "Add", ["i", "one:output:0"], {"T": dtype(INT32)})],
        {"i_": "a:z:0", "x_": "d:y:0"},
    )  # fmt: skip
    graph.const("three", 3.0).const("zero", 0).const("yes", True)
    branches: Any = {"then_branch": func("Twice"), "else_branch": func("Double")}
    graph.add("if", "If", "yes", "three", Tcond=dtype(BOOL), Tin=[1], Tout=[1], **branches)
    functions: Any = {"cond": func("Below"), "body": func("Step")}
    graph.add("while", "While", "zero", "if", T=[INT32, FLOAT], **functions)
    return graph.add("call", "Twice", "while:1")


def break_something(graph: GraphDef, draw: random.Random) -> None:
    """Changes one random part of the functions, or of a node that calls them."""
    function: FunctionDef = draw.choice(graph.library.function)
    node = draw.choice(function.node_def) if function.node_def else graph.node[-1]
    kind = draw.randrange(10)
    if kind == 0:
        del function.node_def[:1]
    elif kind == 1 and node.input:
        node.input[draw.randrange(len(node.input))] = draw.choice(_INPUTS)
    elif kind == 2:
        function.ret[draw.choice(sorted(function.ret))] = draw.choice(_INPUTS)
    elif kind == 3 and function.signature.input_arg:
        function.signature.input_arg[0].type = draw.choice([0, 1, 3, 10, 20, 21, 7, 101, 999])
    elif kind == 4:
        function.signature.output_arg[0].type = draw.choice([0, 3, 10, 20, 21, 7])
    elif kind == 5:
        function.signature.input_arg.add(name=draw.choice(["x", "new", ""]), type=1)
    elif kind == 6:
        node.op = draw.choice([*_OPS, *(f.signature.name for f in graph.library.function)])
    elif kind == 7:
        caller = draw.choice([n for n in graph.node if n.op in ("If", "While")])
        attr = draw.choice([a for a in caller.attr.values() if a.HasField("func")])
        attr.func.name = draw.choice(["", "None", "Double", "Below", "Step"])
    elif kind == 8 and node.attr:
        del node.attr[draw.choice(sorted(node.attr))]
    elif kind == 9:
        function.control_ret["end"] = draw.choice(["", "none", node.name])


def test_a_broken_function_is_an_op_error_or_runs() -> None:
    whole = graph_of_functions().graph
    options = RunOptions(timeout_in_ms=500).SerializeToString()
    ran = 0
    for seed in range(600):
        draw = random.Random(seed)
        graph = GraphDef.FromString(whole.SerializeToString())
        for _ in range(draw.randint(1, 3)):
            break_something(graph, draw)
        session = find_service(SESSIONS, "local")("", b"")
        with contextlib.suppress(OpError):
            session.extend(graph.SerializeToString())
            session.prepare([], ["call:0"], []).run([], options)
            ran += 1
        session.close()
    assert 0 < ran < 300


def test_threads_extend_and_prepare_one_session() -> None:
    graph = graph_of_functions()
    for i in range(60):
        graph.add(f"c{i}", "Twice", "three" if i % 20 == 0 else f"c{i - 1}")
    graph.run("c0:0")

    def work(k: int) -> None:
        for i in range(k, 60, 6):
            value = graph.session.prepare([], [f"c{i}:0"], [])([])[0]
            more = FunctionGraph().add(f"t{k}_{i}", "Double", f"c{i}").graph
            graph.session.extend(more.SerializeToString())
            assert graph.session.prepare([], [f"t{k}_{i}:0"], [])([])[0] == 2 * value

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))


@pytest.mark.parametrize("which", range(3))
def test_the_bounds_of_a_for_are_scalars(which: int) -> None:
    # The number of iterations would be a vector, which is true as a condition for ever.
    @hr.functions.Defun(hr.int32, hr.float32)
    def double(i: hr.Tensor, x: hr.Tensor) -> hr.Tensor:
        return x * 2.0

    bounds = [0, 4, 1]
    vector = hr.placeholder_with_default([bounds[which]], None)
    result = hr.functions.For(*bounds[:which], vector, *bounds[which + 1 :], [1.0], double)
    options = hr.RunOptions(timeout_in_ms=60_000)
    with hr.Session() as session:
        with pytest.raises(hr.errors.InvalidArgumentError, match=r"For.*shape is \[1\], not"):
            session.run(result, options=options)
        assert session.run(result, {vector: bounds[which]}, options=options) == [16.0]
