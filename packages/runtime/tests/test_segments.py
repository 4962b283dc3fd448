"""Segments: sets of nodes of a program that run as one unit.

Modules: passes/segments, passes/token_sets.
"""

from __future__ import annotations

import pytest
import stub_kernels
from graph_text import serialized

from headrace.runtime.graph.session_graph import SessionGraph
from headrace.runtime.passes.program import ProgramConfig, build_program
from headrace.runtime.passes.segments import segments_of

stub_kernels.install()


def cut(text, feeds=(), fetches=(), targets=(), late_feeds=False):
    graph = SessionGraph()
    graph.extend(serialized(text))
    options = ProgramConfig(devices=[stub_kernels.DEVICE], merge_common=False)
    program = build_program(graph, list(feeds), list(fetches), list(targets), options)
    segments = segments_of(program, late_feeds)
    return Cut(program.describe(), segments.describe(program), segments.whole)


class Cut:
    def __init__(self, program, segments, whole):
        self.program = program
        self.segments = segments
        self.whole = whole

    def of(self, name):
        """The number of the segment that contains a node; None: the node is in no segment."""
        found = [i for i, segment in enumerate(self.segments) if name in segment["nodes"]]
        assert len(found) <= 1
        return found[0] if found else None

    def values(self, numbers):
        owners = {v: node["name"] for node in self.program["nodes"] for v in node["outputs"]}
        return sorted(owners[number] for number in numbers)


def test_plain_nodes_are_one_whole_segment():
    found = cut(
        "x = Placeholder(; dtype=float)\nc = Const()\na = Add(x, c)\nb = Mul(a, c)", ["x"], ["b"]
    )
    assert found.whole
    (segment,) = found.segments
    assert sorted(segment["nodes"]) == ["a", "b", "c"]
    assert found.values(segment["inputs"]) == ["x"]
    assert found.values(segment["outputs"]) == ["b"]
    assert segment["shape_like"] == segment["waits"] == []


def test_a_program_without_nodes_is_whole():
    assert cut("x = Placeholder(; dtype=float)", ["x"], ["x"]).whole


RESHAPES = """
    x = Placeholder(; dtype=float)
    n = Placeholder(; dtype=int32)
    m = Placeholder(; dtype=float)
    one = Const(; dtype=int32)
    size = Add(n, one; T=int32)
    flat = Reshape(x, size)
    like = Shape(m)
    again = Reshape(flat, like)
"""


def test_values_that_shapes_hang_on_are_shape_like():
    found = cut(RESHAPES, ["x", "n", "m"], ["again"])
    assert found.whole
    (segment,) = found.segments
    assert found.values(segment["shape_like"]) == ["n"]
    assert found.values(segment["inputs"]) == ["m", "n", "x"]


def test_a_shape_that_hangs_on_a_data_dependent_shape_waits_for_the_next_level():
    found = cut(
        "x = Placeholder(; dtype=float)\nw = Where(x; T=float)\na = Neg(w; T=int64)\nb = Neg(x)",
        ["x"], ["a", "b"],
    )  # fmt: skip
    assert not found.whole
    assert found.of("w") == found.of("b") == 0
    assert found.of("a") == 1
    assert [segment["level"] for segment in found.segments] == [0, 1]
    assert found.values(found.segments[0]["outputs"]) == ["b", "w"]


@pytest.mark.parametrize(
    ("source", "levels"),
    [
        ("s = Const(; dtype=int32)", 1),
        ("r = RandomUniform(k; T=int32, dtype=float)\nk = Const(; dtype=int32)\n"
         "s = Cast(r; SrcT=float, DstT=int32)", 2),
        ("v = VariableV2(; dtype=int32)\ns = Identity(v; T=int32)", 2),
        ("v = VariableV2(; dtype=int32)\nr = Identity(v; T=int32)\ns = Shape(r; T=int32)", 1),
        ("w = Where(x; T=float)\ns = Shape(w; T=int64)", 2),
    ],
)  # fmt: skip
def test_a_constant_input_is_known_before_its_level_starts(source, levels):
    found = cut(
        f"x = Placeholder(; dtype=float)\n{source}\ny = Reshape(x, s)\nz = Neg(y)", ["x"], ["z"]
    )
    assert len(found.segments) == levels
    assert found.of("y") == found.of("z") == levels - 1
    if levels == 2 and "Where" not in source:
        shape_like = found.values(found.segments[1]["shape_like"])
        assert shape_like and set(shape_like) <= {"s", "r", "v"}


QUEUE = """
    q = FIFOQueueV2(; component_types=float)
    x = QueueDequeueV2(q; component_types=float)
    c = Const()
    before = Neg(c)
    after = Add(x, before)
    other = Neg(c, ^x)
"""


def test_nodes_after_an_asynchronous_one_form_another_segment():
    found = cut(QUEUE, [], ["after", "other"])
    assert not found.whole
    assert found.of("x") is None
    assert found.of("before") == found.of("c") == found.of("q") == 0
    assert found.of("after") == found.of("other") == 1
    assert found.values(found.segments[1]["inputs"]) == ["before", "c", "x"]
    waits = [found.program["nodes"][i]["name"] for i in found.segments[1]["waits"]]
    assert waits == ["x"]


def test_late_feeds_bound_segments():
    text = """
        x = Placeholder(; dtype=float)
        y = Placeholder(; dtype=float)
        a = Neg(x)
        b = Neg(y)
        c = Add(a, b)
    """
    assert cut(text, ["x", "y"], ["c"]).whole
    late = cut(text, ["x", "y"], ["c"], late_feeds=True)
    assert not late.whole
    assert len({late.of("a"), late.of("b"), late.of("c")}) == 3


COND = """
    p = Placeholder(; dtype=bool)
    x = Placeholder(; dtype=float)
    y = Placeholder(; dtype=float)
    sx = Switch(x, p)
    same = Identity(p; T=bool)
    sy = Switch(y, same)
    t1 = Neg(sx:1)
    t2 = Add(t1, sy:1)
    f1 = Neg(sy)
    m = Merge(f1, t2; N=2)
    out = Neg(m)
"""


def test_each_branch_of_a_condition_is_one_segment():
    found = cut(COND, ["p", "x", "y"], ["out"])
    assert found.of("t1") == found.of("t2")
    assert len({found.of("t1"), found.of("f1"), found.of("out")}) == 3
    assert found.of("sx") is found.of("m") is None


LOOP = """
    zero = Const()
    x = Placeholder(; dtype=float)
    step = Const()
    ei = Enter(zero; frame_name=loop)
    ex = Enter(x; frame_name=loop)
    es = Enter(step; frame_name=loop, is_constant=True)
    mi = Merge(ei, ni; N=2)
    mx = Merge(ex, nx; N=2)
    less = Less(mi, es)
    go = LoopCond(less)
    si = Switch(mi, go)
    sx = Switch(mx, go)
    bi = Add(si:1, es)
    bx1 = Mul(sx:1, si:1)
    bx = Neg(bx1)
    ni = NextIteration(bi)
    nx = NextIteration(bx)
    xi = Exit(si)
    xx = Exit(sx)
    out = Neg(xx)
"""


def test_condition_and_body_of_a_loop_are_one_segment_each():
    found = cut(LOOP, ["x"], ["out", "xi"])
    assert found.of("less") == found.of("go")
    assert found.of("bi") == found.of("bx1") == found.of("bx")
    assert len({found.of("less"), found.of("bi"), found.of("out"), found.of("zero")}) == 4
    body = found.segments[found.of("bi")]
    assert found.values(body["inputs"]) == ["es", "si", "sx"]
    assert found.values(body["outputs"]) == ["bi", "bx"]


def test_a_switch_behind_a_switch_of_the_same_predicate_closes_no_cycle():
    text = """
        p = Placeholder(; dtype=bool)
        x = Placeholder(; dtype=float)
        s1 = Switch(x, p)
        a = Neg(s1:1)
        s2 = Switch(a, p)
        b = Neg(s2:1)
        c = Neg(b)
    """
    found = cut(text, ["p", "x"], ["c"])
    assert found.of("a") < found.of("b") == found.of("c")
