"""Merging common nodes, placing, partitioning, ordering writes.

Modules: passes/common_subexpressions, passes/graph_ir, passes/program.
"""

from __future__ import annotations

import pytest
import stub_kernels
from graph_text import graph
from test_program import build, names, where

from headrace.formats.errors import InvalidArgumentError
from headrace.runtime.graph.session_graph import SessionGraph
from headrace.runtime.passes.device_table import parse_device

TWO = (
    "/job:localhost/replica:0/task:0/device:STUB:0",
    "/job:localhost/replica:0/task:0/device:STUB:1",
)
MIXED = (TWO[0], "/job:localhost/replica:0/task:0/device:STUB2:0")


# ---- common subexpressions --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "merged"),
    [
        ("Neg(x)", "Neg(x)", True),
        ("Neg(x)", "Neg(y)", False),
        ("Add(x, y)", "Add(x, y)", True),
        ("Mul(x, y)", "Mul(y, x)", True),
        ("Sub(x, y)", "Sub(y, x)", False),
        ("Neg(x, ^x)", "Neg(x)", False),
        ("Neg(x, ^x, ^y)", "Neg(x, ^y, ^x)", True),
        ("Cast(x; SrcT=float, DstT=int32)", "Cast(x; SrcT=float, DstT=double)", False),
        ("Neg(x; _class=loc:@x)", "Neg(x)", True),
        ("MatMul(x, y; transpose_a=False)", "MatMul(x, y)", True),
        ("MatMul(x, y; transpose_a=True)", "MatMul(x, y)", False),
        ("RandomUniform(s; T=int32, dtype=float)", "RandomUniform(s; T=int32, dtype=float)", False),
        ("VariableV2()", "VariableV2()", False),
        ("Identity(v)", "Identity(v)", True),
    ],
)
def test_nodes_merge_where_they_must_agree(first, second, merged):
    text = f"""
        s = Const(; dtype=int32)
        v = VariableV2()
        x = Neg(v)
        y = Mul(v, v)
        a = {first}
        b = {second}
    """
    values = build(text, [], ["a", "b"])["fetches"]
    assert (values[0] == values[1]) is merged


def test_chains_merge_as_far_as_they_agree():
    text = """
        x = VariableV2()
        a1 = Neg(x)
        a2 = Neg(a1)
        a3 = Mul(a2, a1)
        b1 = Neg(x)
        b2 = Neg(b1)
        b3 = Sub(b2, b1, ^a2)
    """
    program = build(text, [], ["a3", "b3"], ["b2"])
    assert sorted(names(program)) == ["a1", "a2", "a3", "b3", "x", "x"]
    assert program["targets"] == [where(program, "a2")]
    assert program["nodes"][where(program, "b3")]["controls"] == [where(program, "a2")]


def test_constants_merge_by_value():
    message = graph("a = Const()\nb = Const()\nc = Const()\nsum = Add(a, b)\nall = Add(sum, c)")
    for node, value in zip(message.node[:3], (1.0, 1.0, 2.0), strict=True):
        node.attr["value"].tensor.float_val.append(value)
    session = SessionGraph()
    session.extend(message.SerializeToString())
    assert sorted(names(build(session, [], ["all"]))) == ["a", "all", "c", "sum"]
    assert len(names(build(session, [], ["all"], merge_common=False))) == 5


# ---- placement ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("/cpu:1", {"type": "CPU", "index": 1}),
        ("/device:GPU:0", {"type": "GPU", "index": 0}),
        ("/gpu:*", {"type": "GPU"}),
        ("/job:ps/task:2", {"job": "ps", "task": 2}),
        ("/job:localhost/replica:0/task:0/device:CPU:1",
         {"job": "localhost", "replica": 0, "task": 0, "type": "CPU", "index": 1}),
        ("/job:worker/replica:0/task:3/cpu:0",
         {"job": "worker", "replica": 0, "task": 3, "type": "CPU", "index": 0}),
        ("", {}),
    ],
)  # fmt: skip
def test_device_specifications_are_read(text, fields):
    assert parse_device(text) == fields


@pytest.mark.parametrize("text", ["cpu:0", "/cpu:one", "/device:", "/job:a b:c/", "//"])
def test_text_that_is_not_a_device_is_rejected(text):
    with pytest.raises(ValueError):
        parse_device(text)


def test_a_node_is_placed_on_its_requested_device():
    program = build("a = Const()\nb = Neg(a) @/stub:1", [], ["b"], devices=TWO)
    assert program["nodes"][where(program, "b")]["device"] == TWO[1]
    assert program["nodes"][where(program, "a", "Const")]["device"] == TWO[0]


def test_an_unknown_device_is_rejected_unless_placement_is_soft():
    text = "a = Const()\nb = Neg(a) @/device:GPU:0"
    with pytest.raises(InvalidArgumentError) as caught:
        build(text, [], ["b"])
    assert caught.value.message == (
        f"cannot place Neg 'b' on '/device:GPU:0': the session has {stub_kernels.DEVICE}; name "
        "one of these or set allow_soft_placement"
    )
    assert caught.value.node_name == "b"
    assert names(build(text, [], ["b"], allow_soft_placement=True)) == ["a", "b"]


def test_a_malformed_device_is_rejected():
    message = graph("a = Const()\nb = Neg(a)")
    message.node[1].device = "stub 0"
    session = SessionGraph()
    session.extend(message.SerializeToString())
    with pytest.raises(InvalidArgumentError, match="Neg 'b': 'stub 0' is not a device"):
        build(session, [], ["b"])


def test_a_node_without_a_kernel_on_its_device_is_rejected_unless_placement_is_soft():
    text = "a = Const()\nb = Neg(a) @/device:STUB2:0"
    with pytest.raises(InvalidArgumentError, match=r"'b': no STUB2 kernel for Neg with T=float;"):
        build(text, [], ["b"], devices=MIXED)
    program = build(text, [], ["b"], devices=MIXED, allow_soft_placement=True)
    assert program["nodes"][where(program, "b")]["device"] == TWO[0]


def test_nodes_of_one_class_stand_together():
    text = "a = Const() @/stub:1\nb = Const(; _class=loc:@a)\nc = Add(a, b)"
    program = build(text, [], ["c"], devices=TWO, merge_common=False)
    assert program["nodes"][where(program, "b", "Const")]["device"] == TWO[1]


def test_writers_stand_by_their_variable():
    text = "v = VariableV2() @/stub:1\nc = Const()\nw = Assign(v, c)"
    program = build(text, [], [], ["w"], devices=TWO)
    assert program["nodes"][where(program, "w")]["device"] == TWO[1]


def test_nodes_that_must_share_a_device_and_cannot_are_named():
    text = "v = VariableV2() @/stub:1\nc = Const()\nw = Assign(v, c) @/stub:0"
    with pytest.raises(InvalidArgumentError) as caught:
        build(text, [], [], ["w"], devices=TWO)
    assert f"'v' ({TWO[1]}); 'w' ({TWO[0]})" in caught.value.message


# ---- partition ----------------------------------------------------------------------------------


def test_a_tensor_crosses_to_a_device_once():
    text = "a = Const()\nb = Neg(a) @/stub:1\nc = Identity(a) @/stub:1\nd = Add(b, c)"
    program = build(text, [], ["d"], devices=TWO)
    kinds = [node["kind"] for node in program["nodes"]]
    assert kinds.count("SEND") == kinds.count("RECV") == 3  # a; b and c back
    assert program["dynamic"]
    receive = next(n for n in program["nodes"] if n["kind"] == "RECV" and n["name"] == "a")
    for name in ("b", "c"):
        index = where(program, name, "Neg" if name == "b" else "Identity")
        assert program["nodes"][index]["inputs"] == receive["outputs"]
    assert receive["device"] == TWO[1]


def test_feeds_and_fetches_need_no_crossing():
    text = "x = Placeholder(; dtype=float)\na = Neg(x) @/stub:1\nb = Neg(x)"
    program = build(text, ["x"], ["a", "b"], devices=TWO, merge_common=False)
    assert [node["kind"] for node in program["nodes"]] == ["FEED", "KERNEL", "KERNEL"]
    assert program["dynamic"]


def test_a_loop_over_two_devices_needs_no_crossing():
    text = """
        zero = Const()
        e = Enter(zero; frame_name=loop)
        m = Merge(e, n; N=2)
        l = Less(m, m)
        go = LoopCond(l)
        s = Switch(m, go)
        far = Neg(s:1) @/stub:1
        n = NextIteration(far)
        out = Exit(s)
    """
    program = build(text, [], ["out"], devices=TWO)
    kinds = [node["kind"] for node in program["nodes"]]
    assert "SEND" not in kinds and "RECV" not in kinds
    assert program["nodes"][where(program, "far")]["device"] == TWO[1]


# ---- writes after reads --------------------------------------------------------------------------


def test_a_writer_waits_for_reads_that_nothing_orders():
    text = "v = VariableV2()\nc = Const()\nr = Neg(v)\nw = AssignAdd(v, c)"
    program = build(text, [], ["r"], ["w"])
    read = where(program, "v", "_ReadSlot")
    assert program["nodes"][where(program, "w")]["controls"] == [read]


def test_a_writer_does_not_wait_for_reads_behind_a_switch():
    text = """
        v = VariableV2()
        c = Const()
        p = Placeholder(; dtype=bool)
        sw = Switch(c, p)
        r = Neg(v, ^sw)
        w = AssignAdd(v, c)
    """
    program = build(text, ["p"], ["r"], ["w"])
    assert program["nodes"][where(program, "w")]["controls"] == []


def test_writers_that_read_one_another_close_no_cycle():
    text = """
        a = VariableV2()
        b = VariableV2()
        wa = AssignAdd(a, b)
        wb = AssignAdd(b, a)
        ra = Neg(a, ^wb)
        rb = Neg(b, ^wa)
    """
    program = build(text, [], ["ra", "rb"])
    for i, node in enumerate(program["nodes"]):
        assert all(control < i for control in node["controls"])
