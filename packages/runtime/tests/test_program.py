"""Programs: what a signature runs."""

from __future__ import annotations

import pytest
import stub_kernels
from graph_text import serialized

from headrace.formats.errors import InvalidArgumentError, NotFoundError
from headrace.runtime.graph.session_graph import SessionGraph
from headrace.runtime.passes.program import ProgramConfig, build_program

stub_kernels.install()


def session(text: str) -> SessionGraph:
    graph = SessionGraph()
    graph.extend(serialized(text))
    return graph


def build(text, feeds=(), fetches=(), targets=(), devices=(stub_kernels.DEVICE,), **config):
    graph = text if isinstance(text, SessionGraph) else session(text)
    options = ProgramConfig(devices=list(devices), **config)
    return build_program(graph, list(feeds), list(fetches), list(targets), options).describe()


def names(program) -> list[str]:
    return [node["name"] for node in program["nodes"]]


def where(program, name, op=None) -> int:
    found = [
        i
        for i, node in enumerate(program["nodes"])
        if node["name"] == name and op in (None, node["op"])
    ]
    assert len(found) == 1, (name, names(program))
    return found[0]


ARITHMETIC = """
    x = Placeholder(; dtype=float)
    c = Const()
    sum = Add(x, c)
    unused = Neg(sum)
    product = Mul(sum, c)
"""


def test_only_what_a_fetch_needs_is_kept():
    program = build(ARITHMETIC, ["x"], ["product:0"])
    assert sorted(names(program)) == ["c", "product", "sum", "x"]
    assert program["nodes"][where(program, "x")]["kind"] == "FEED"
    assert not program["dynamic"]


def test_a_feed_in_the_middle_cuts_what_is_before_it():
    program = build(ARITHMETIC, ["sum"], ["product"])
    assert sorted(names(program)) == ["c", "product", "sum"]
    assert program["nodes"][where(program, "sum")]["kind"] == "FEED"


def test_a_fed_tensor_that_is_fetched_gives_the_fed_value():
    program = build(ARITHMETIC, ["sum:0"], ["sum:0"])
    assert names(program) == ["sum"]
    assert program["feeds"] == program["fetches"] == [0]


def test_a_feed_that_nothing_needs_has_no_value():
    assert build(ARITHMETIC, ["x", "c"], ["c"])["feeds"] == [-1, 0]


def test_fetches_keep_their_order_and_may_repeat():
    program = build(ARITHMETIC, ["x"], ["sum", "c", "sum"])
    values = [program["nodes"][where(program, n)]["outputs"][0] for n in ("sum", "c", "sum")]
    assert program["fetches"] == values


def test_feeding_one_output_leaves_the_others():
    text = "u = Unique(x)\nx = Const()\na = Neg(u)\nb = Cast(u:1; SrcT=int32, DstT=float)"
    stub_kernels.add([stub_kernels.registration("Unique")])
    program = build(text, ["u:1"], ["a", "b"])
    assert [n["kind"] for n in program["nodes"] if n["name"] == "u"].count("FEED") == 1
    assert names(program).count("u") == 2


def test_to_wait_for_a_fed_placeholder_is_to_wait_for_nothing():
    text = "x = Placeholder(; dtype=float)\nc = Const()\ny = Neg(c, ^x)"
    assert sorted(names(build(text, ["x"], ["y"]))) == ["c", "y"]


@pytest.mark.parametrize(
    ("feeds", "fetches", "targets", "error", "text"),
    [
        (["X"], [], [], NotFoundError, "Feed 'X': no node 'X' in the graph; did you mean 'x'?"),
        ([], ["Sum:0"], [], NotFoundError,
         "Fetch 'Sum:0': no node 'Sum' in the graph; did you mean 'sum'?"),
        ([], [], ["prodct"], NotFoundError,
         "Target 'prodct': no node 'prodct' in the graph; did you mean 'product'?"),
        ([], ["sum:1"], [], InvalidArgumentError, "Fetch 'sum:1': Add 'sum' has 1 outputs"),
        ([], ["sum:99999999999"], [], InvalidArgumentError,
         "Fetch 'sum:99999999999': Add 'sum' has 1 outputs"),
        (["x", "x:0"], ["sum"], [], InvalidArgumentError,
         "Feed 'x:0': the tensor is fed already, as 'x'; feed it once"),
        ([], ["sum"], [], InvalidArgumentError,
         "You must feed a value for placeholder tensor 'x' with dtype float"),
    ],
)  # fmt: skip
def test_a_bad_signature_is_rejected(feeds, fetches, targets, error, text):
    with pytest.raises(error) as caught:
        build(ARITHMETIC, feeds, fetches, targets)
    assert caught.value.message == text


def test_a_node_without_a_kernel_is_named_with_its_dtypes():
    with pytest.raises(InvalidArgumentError) as caught:
        build("c = Const(; dtype=int32)\nm = MatMul(c, c; T=int32)", [], ["m"])
    assert caught.value.message.startswith(
        "MatMul 'm': no STUB kernel for MatMul with T=int32; there is: "
    )
    assert caught.value.node_name == "m"


VARIABLE = """
    v = VariableV2(; dtype=float)
    c = Const()
    add = AssignAdd(v, c)
    twice = Add(v, v)
    later = Neg(v, ^add)
    after = Neg(add)
"""


def test_a_plain_input_fed_by_a_reference_reads_the_variable():
    program = build(VARIABLE, [], ["twice"])
    read = where(program, "v", "_ReadSlot")
    assert program["nodes"][read]["kind"] == "READ_SLOT"
    value = program["nodes"][read]["outputs"][0]
    assert program["nodes"][where(program, "twice")]["inputs"] == [value, value]


def test_reads_that_nothing_orders_come_before_writes():
    program = build(VARIABLE, [], ["twice"], ["add"])
    assert where(program, "v", "_ReadSlot") < where(program, "add")


def test_a_fetched_variable_is_read_behind_the_writes():
    program = build(VARIABLE, [], ["twice", "v"], ["add"])
    add = where(program, "add")
    before, behind = (i for i, node in enumerate(program["nodes"]) if node["kind"] == "READ_SLOT")
    assert before < add < behind
    assert program["nodes"][behind]["controls"] == [add]
    assert program["fetches"][1] == program["nodes"][behind]["outputs"][0]


def test_a_read_inherits_the_control_inputs_of_its_consumer():
    program = build(VARIABLE, [], ["later", "twice"])
    add = where(program, "add")
    reads = [i for i, node in enumerate(program["nodes"]) if node["kind"] == "READ_SLOT"]
    assert len(reads) == 2
    late = program["nodes"][where(program, "later")]["inputs"][0]
    assert [program["nodes"][i]["controls"] for i in reads] == [[], [add]]
    assert program["nodes"][reads[1]]["outputs"] == [late]


def test_a_fetched_reference_is_read_after_the_write_that_gives_it():
    program = build(VARIABLE, [], ["add", "after"])
    read = where(program, "add", "_ReadSlot")
    assert program["fetches"][0] == program["nodes"][read]["outputs"][0]
    assert read > where(program, "add", "AssignAdd")
    assert program["dtypes"][program["fetches"][0]] == "float"


def test_a_fed_variable_is_a_plain_value():
    program = build(VARIABLE, ["v"], ["twice"])
    assert [n["kind"] for n in program["nodes"]] == ["FEED", "KERNEL"]
    assert program["dtypes"] == ["float", "float"]


def test_a_fed_variable_cannot_be_written():
    with pytest.raises(InvalidArgumentError, match="AssignAdd 'add': input 0 must be a variable"):
        build(VARIABLE, ["v"], [], ["add"])


def test_resource_reads_come_before_writes_that_nothing_orders():
    text = """
        h = VarHandleOp(; dtype=float)
        c = Const()
        w = AssignAddVariableOp(h, c)
        r = ReadVariableOp(h)
    """
    program = build(text, [], ["r"], ["w"])
    assert where(program, "r") < where(program, "w")


def test_a_program_lives_on_while_its_graph_grows():
    graph = session(ARITHMETIC)
    options = ProgramConfig(devices=[stub_kernels.DEVICE])
    program = build_program(graph, ["x"], ["product"], [], options)
    before = program.describe()
    for i in range(50):
        graph.extend(serialized(f"more{i} = Neg(product)"))
    assert program.describe() == before
    assert "more49" in names(build(graph, ["x"], ["more49"]))


# ---- pure nodes that only control edges reach ---------------------------------------------------


def waits_for(program, name) -> list[str]:
    node = program["nodes"][where(program, name)]
    return sorted(program["nodes"][i]["name"] for i in node["controls"])


def test_a_pure_node_that_only_control_edges_reach_is_left_out():
    program = build("a = Const()\nb = Neg(a)\nc = Mul(b, b)\nd = Neg(a, ^c)", [], ["d"])
    assert sorted(names(program)) == ["a", "d"]
    assert waits_for(program, "d") == []


@pytest.mark.parametrize(
    "effect",
    ["v = VariableV2()\ne = Assign(v, a)", "e = RandomUniform(s; T=int32, dtype=float)"],
)
def test_control_edges_pass_through_pruned_pure_nodes(effect):
    text = f"""
        s = Const(; dtype=int32)
        a = Const()
        {effect}
        first = Neg(a, ^e)
        second = Mul(first, a)
        last = Neg(a, ^second)
    """
    program = build(text, [], ["last"])
    assert "first" not in names(program) and "second" not in names(program)
    assert waits_for(program, "last") == ["e"]


def test_a_pure_node_with_a_reader_keeps_its_control_edges():
    text = "a = Const()\nb = Neg(a)\nc = Neg(b)\nd = Mul(a, a, ^c)\ne = Add(d, b)"
    program = build(text, [], ["e"])
    assert waits_for(program, "d") == ["b"]
    program = build(text, [], ["d", "c"])
    assert waits_for(program, "d") == ["c"]


def test_a_target_runs_though_nothing_reads_it():
    text = "a = Const()\nb = Neg(a)\nc = Neg(b)\nd = Mul(a, a, ^c)"
    assert sorted(names(build(text, [], ["d"], ["c"]))) == ["a", "b", "c", "d"]


def test_a_group_that_is_a_target_asks_for_its_members():
    text = """
        a = Const()
        b = Neg(a)
        inner = NoOp(^b)
        outer = NoOp(^inner)
        after = Mul(a, a, ^outer)
    """
    assert sorted(names(build(text, [], [], ["outer"]))) == ["a", "b", "inner", "outer"]
    assert "b" not in names(build(text, [], ["after"]))


def test_a_placeholder_behind_a_pure_node_must_still_be_fed():
    text = "x = Placeholder(; dtype=float)\na = Const()\nb = Neg(x)\nc = Neg(a, ^b)"
    with pytest.raises(InvalidArgumentError, match="must feed a value for placeholder tensor 'x'"):
        build(text, [], ["c"])
    assert sorted(names(build(text, ["x"], ["c"]))) == ["a", "c"]


def test_a_shape_check_runs_even_if_its_result_is_unused():
    text = "a = Const()\nb = EnsureShape(a)\nc = Neg(b)\nd = Neg(a, ^c)"
    assert waits_for(build(text, [], ["d"]), "d") == ["b"]


def test_nodes_after_a_switch_stay_and_later_ones_are_pruned():
    text = """
        p = Const(; dtype=bool)
        a = Const()
        s = Switch(a, p)
        pivot = Identity(s:1)
        on = Neg(pivot)
        inside = Neg(a, ^on)
        m = Merge(s, inside; N=2)
    """
    program = build(text, [], ["m"])
    assert "on" not in names(program)
    assert waits_for(program, "inside") == ["pivot"]


def test_partial_runs_leave_nothing_out():
    text = "x = Placeholder(; dtype=float)\na = Const()\nb = Neg(x)\nc = Neg(a, ^b)"
    assert "b" in names(build(text, ["x"], ["c"], partial_run=True))
