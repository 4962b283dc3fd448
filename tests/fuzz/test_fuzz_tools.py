"""The fuzzer finds cases that crash, hang or raise."""

from __future__ import annotations

import os
import random
import sys

import fuzz_case
import kept_differences
import numpy as np
import program_graphs
import pytest
import verdicts
from child_processes import Ended, Judge, run_batch
from column_signs import equal_but_for_signs
from fuzz_child import portable
from kinds import KINDS, make_case

from headrace.formats.proto import types_pb2
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.tensor_codec import make_tensor_proto


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_determines_the_case_and_its_file(kind: str) -> None:
    for seed in range(20):
        case, again = make_case(kind, seed), make_case(kind, seed)
        text = fuzz_case.to_text(case)
        assert text == fuzz_case.to_text(again)
        read = fuzz_case.from_text(text)
        assert read.sent == case.sent and read.calls == case.calls
        for one, other in zip(read.runs, case.runs, strict=True):
            assert (one.fetches, one.targets) == (other.fetches, other.targets)
            assert list(one.feeds) == sorted(other.feeds) or set(one.feeds) == set(other.feeds)


@pytest.mark.parametrize("how", ["crash", "hang"])
def test_a_case_that_ends_or_holds_its_process_is_named(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_FUZZ_PLANT", f"{how} 3")
    seen = []
    with pytest.raises(Ended) as ended:
        for record in run_batch("known", 0, 10, limit_s=3.0):
            seen.append(record[0])
    found = (ended.value.how, ended.value.seed, seen)
    assert found == (how, 3, [0, 1, 2]), ended.value.detail


def test_equal_runs_with_different_values_and_raw_exceptions_are_verdicts() -> None:
    one, two = (("float32", (2,), np.array(v, np.float32).tobytes()) for v in ([1, 2], [1, 3]))
    found = verdicts.of_ours([("values", [one]), ("values", [two])], False, 0.0)
    assert [v for v, _ in found] == ["unstable"]
    assert verdicts.of_ours([("values", [one]), ("values", [two])], True, 0.0) == []
    assert [v for v, _ in verdicts.of_ours([("raw", "IndexError")], False, 0.0)] == [
        "raw exception"
    ]


def test_a_result_where_tensorflow_rejects_is_a_verdict_but_not_its_lack_of_a_kernel() -> None:
    value = [("values", [("int32", (), np.array(1, np.int32).tobytes())])]
    rejected = [("rejected", (3, "shapes differ"))]
    assert [v for v, _ in verdicts.against(value, rejected, False)] == ["TensorFlow rejects"]
    assert [v for v, _ in verdicts.against(rejected, value, False)] == [
        "rejected, TensorFlow gives a result"
    ]
    assert verdicts.against(value, [("rejected", (3, "No OpKernel was registered"))], False) == []


def _endless_loop() -> fuzz_case.Case:
    """A loop with a value that is live in every iteration, also after the last one."""
    graph = GraphDef()
    for name, op, inputs in (
        ("go", "Const", []), ("enter", "Enter", ["go"]), ("fixed", "Enter", ["go"]),
        ("merge", "Merge", ["enter", "next"]), ("next", "NextIteration", ["fixed"]),
        ("exit", "Exit", ["merge"]),
    ):  # fmt: skip
        node = graph.node.add(name=name, op=op, input=inputs)
        node.attr["dtype" if op == "Const" else "T"].type = 10
        if op == "Enter":
            node.attr["frame_name"].s = b"loop"
            node.attr["is_constant"].b = name == "fixed"
        if op == "Merge":
            node.attr["N"].i = 2
    graph.node[0].attr["value"].tensor.CopyFrom(make_tensor_proto(np.array(True)))
    fine, endless = fuzz_case.Run({}, ["go:0"]), fuzz_case.Run({}, ["exit:0"])
    return fuzz_case.Case(graph, [fine, endless, fine])


@pytest.mark.peer
def test_the_judge_goes_on_where_tensorflow_cannot_end_a_run() -> None:
    judge = Judge(os.environ.get("HEADRACE_PEER_PYTHON", sys.executable))
    try:
        record = judge.run(_endless_loop(), portable)
        assert record is not None and [how for how, _ in record] == ["values"]
        assert (judge.hangs, judge.crashes) == (1, 0)
        again = judge.run(_one_node("Identity", np.float32(2)), portable)
        assert again is not None and len(again) == 1
    finally:
        judge.close()


def test_values_of_a_generated_loop_end_with_the_loop() -> None:
    for seed in range(300):
        program = program_graphs.Program(random.Random(seed))
        for _ in range(5):
            program.statement(2)
        nodes = {node.name: node for node in program.graph.node}
        for node in nodes.values():
            if node.op == "NextIteration":
                assert nodes[node.input[0].partition(":")[0]].op != "Enter"


def _one_node(op: str, value: np.ndarray) -> fuzz_case.Case:
    graph = GraphDef()
    graph.node.add(name="it", op=op, input=["x"])
    return fuzz_case.Case(graph, [fuzz_case.Run({"x:0": value}, ["it:0"])])


def test_a_difference_on_purpose_is_one_for_the_inputs_that_its_reason_names_only() -> None:
    for op, named, other in (
        ("Erf", np.array([np.inf, 1.0]), np.array([1.0, np.nan])),
        ("Round", np.array([-1], np.int64), np.array([0.5], np.float32)),
        ("Sqrt", np.array([1.7e308 + 0j]), np.array([1.7e300 + 0j])),
        ("Roll", np.array([2**63 - 1]), np.array([2**31])),
    ):
        assert kept_differences.why_kept(_one_node(op, named), "output 0, element 0: 1, 2", True)
        assert not kept_differences.why_kept(
            _one_node(op, other), "output 0, element 0: 1, 2", True
        )
    for dtype, named, other in (
        (types_pb2.DT_UINT16, 65536.0, 65535.5),
        (types_pb2.DT_INT8, -129.0, -128.9),
    ):
        for value, apart_of in ((named, True), (other, False), (np.inf, True)):
            one = _one_node("Cast", np.float32([1, value]))
            one.graph.node[0].attr["DstT"].type = dtype
            assert (
                bool(kept_differences.why_kept(one, "output 0, element 1: 0, 1", True)) == apart_of
            )
    shapes = "shapes differ: input 0 is [2], input 1 is [3]"
    one = _one_node("TanhGrad", np.zeros(2))
    assert not kept_differences.why_kept(one, shapes, False)
    one.graph.node[0].input.append("y")
    one.runs[0].feeds["y:0"] = np.zeros(3)
    assert kept_differences.why_kept(one, shapes, False)
    assert not kept_differences.why_kept(_one_node("ReluGrad", np.zeros(2)), shapes, False)


def _fed(op: str, *values: np.ndarray) -> fuzz_case.Case:
    graph = GraphDef()
    graph.node.add(name="it", op=op, input=[f"x{i}" for i in range(len(values))])
    feeds = {f"x{i}:0": value for i, value in enumerate(values)}
    return fuzz_case.Case(graph, [fuzz_case.Run(feeds, ["it:0"])])


def test_an_index_is_outside_and_a_gradient_differs_where_the_inputs_say_so() -> None:
    shape, words = np.array([2, 3]), "index 5 is out of bounds"
    for index, outside in (([0, 2], False), ([0, 3], True), ([-1, 0], True)):
        at = np.array([index])
        reshaped = _fed("SparseReshape", at, shape, np.array([6]))
        reduced = _fed("SparseReduceSum", at, np.ones(1), shape, np.array([0]))
        assert bool(kept_differences.why_kept(reshaped, words, False)) == outside
        assert bool(kept_differences.why_kept(reduced, words, False)) == outside
    of = [np.zeros(n) for n in (0, (4, 2, 3), (2, 5), (2, 5), (8, 20), 5, 5, 5, 20)]
    of += [np.zeros((4, 2, 5))] * 7 + [np.zeros((4, 2, 5))] * 2
    assert not kept_differences.why_kept(
        _fed("BlockLSTMGrad", *of), "h_grad.dim_size(2) != cell_size: 4 vs. 5", False
    )
    of[-1] = np.zeros((4, 2, 4))
    assert kept_differences.why_kept(
        _fed("BlockLSTMGrad", *of), "h_grad.dim_size(2) != cell_size: 4 vs. 5", False
    )


def test_decompositions_are_compared_but_for_the_signs_of_their_columns() -> None:
    def forms(*outputs: np.ndarray) -> list[tuple[str, tuple[int, ...], bytes]]:
        return [(x.dtype.name, x.shape, x.tobytes()) for x in outputs]

    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 3))
    u, s, v = np.linalg.svd(x)
    ours, signs = forms(s, u, v.T), np.array([1, -1, -1])
    free = u * np.array([1, -1, -1, 1])
    free[:, 3] = rng.standard_normal(4)
    assert equal_but_for_signs("Svd", ours, forms(s, free, v.T * signs))
    assert not equal_but_for_signs("Svd", ours, forms(s * 1.1, u, v.T))
    assert not equal_but_for_signs("Svd", ours, forms(s, u[:, [1, 0, 2, 3]], v.T))
    q, r = np.linalg.qr(x)
    assert equal_but_for_signs("Qr", forms(q, r), forms(q * signs, r * signs[:, np.newaxis]))
    assert not equal_but_for_signs("Qr", forms(q, r), forms(q, r + 1))
    assert not equal_but_for_signs("Lu", forms(q, r), forms(q, r))


def test_only_ops_that_the_catalogue_of_later_ops_names_may_lack_a_kernel() -> None:
    record = "{0} 'it': no CPU kernel for {0}; none of the installed kernel libraries (cpu) has one"
    assert kept_differences.has_no_kernel(record.format("PlaceholderV2"))
    assert not kept_differences.has_no_kernel(record.format("MatMul"))
