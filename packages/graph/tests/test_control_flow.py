"""The graphs of cond and while_loop equal those of TensorFlow 2.21 (compat.v1)."""

from __future__ import annotations

import pytest

import headrace.graph as hr


def listed(graph):
    return {
        o.name: (o.type, *[t.name for t in o.inputs], *["^" + c.name for c in o.control_inputs])
        for o in graph.get_operations()
    }


def test_cond_adds_switch_and_merge(graph):
    x = hr.placeholder(hr.float32, [], name="x")
    y = hr.constant(2.0, name="y")
    result = hr.cond(x < y, lambda: x + y, lambda: y * 3.0)
    assert result.name == "cond/Merge:0" and result.shape == []
    assert listed(graph) == {
        "x": ("Placeholder",),
        "y": ("Const",),
        "Less": ("Less", "x:0", "y:0"),
        "cond/Switch": ("Switch", "Less:0", "Less:0"),
        "cond/switch_t": ("Identity", "cond/Switch:1"),
        "cond/switch_f": ("Identity", "cond/Switch:0"),
        "cond/pred_id": ("Identity", "Less:0"),
        "cond/add/Switch": ("Switch", "x:0", "cond/pred_id:0"),
        "cond/add/Switch_1": ("Switch", "y:0", "cond/pred_id:0"),
        "cond/add": ("AddV2", "cond/add/Switch:1", "cond/add/Switch_1:1"),
        "cond/mul/Switch": ("Switch", "y:0", "cond/pred_id:0"),
        "cond/mul/y": ("Const", "^cond/switch_f"),
        "cond/mul": ("Mul", "cond/mul/Switch:0", "cond/mul/y:0"),
        "cond/Merge": ("Merge", "cond/mul:0", "cond/add:0"),
    }


def test_while_loop_consists_of_the_five_primitives(graph):
    x = hr.placeholder(hr.float32, [], name="x")
    i, a = hr.while_loop(lambda i, a: i < 10, lambda i, a: (i + 1, a * x), [0, 1.0])
    nodes = listed(graph)
    assert (i.name, a.name) == ("while/Exit:0", "while/Exit_1:0")
    assert nodes["while/Merge"] == ("Merge", "while/Enter:0", "while/NextIteration:0")
    assert nodes["while/Less/y"] == ("Const", "^while/Merge")
    assert nodes["while/Switch"] == ("Switch", "while/Merge:0", "while/LoopCond:0")
    assert nodes["while/Identity"] == ("Identity", "while/Switch:1")
    assert nodes["while/add/y"] == ("Const", "^while/Identity")
    assert nodes["while/mul"] == ("Mul", "while/Identity_1:0", "while/mul/Enter:0")
    assert nodes["while/mul/Enter"] == ("Enter", "x:0")
    assert nodes["while/NextIteration"] == ("NextIteration", "while/add:0")
    assert nodes["while/Exit"] == ("Exit", "while/Switch:0")
    enter = graph.get_operation_by_name("while/mul/Enter")
    assert enter.get_attr("is_constant") is True
    assert enter.get_attr("frame_name") == b"while/while_context"
    assert graph.get_operation_by_name("while/Enter").get_attr("is_constant") is False


def test_invariant_enters_every_nested_loop(graph):
    x = hr.placeholder(hr.float32, [], name="x")

    def inner(a):
        return hr.while_loop(lambda b: b < 10.0, lambda b: b + x, [a])

    hr.while_loop(lambda a: a < 100.0, inner, [1.0])
    nodes = listed(graph)
    assert nodes["while/while/add/Enter"] == ("Enter", "x:0")
    assert nodes["while/while/add/Enter_1"] == ("Enter", "while/while/add/Enter:0")
    assert nodes["while/while/add"] == (
        "AddV2", "while/while/Identity:0", "while/while/add/Enter_1:0",
    )  # fmt: skip
    assert nodes["while/NextIteration"] == ("NextIteration", "while/while/Exit:0")


def test_outer_control_inputs_enter_a_loop_as_values(graph):
    gate = hr.constant(1.0, name="gate")

    def body(i):
        with hr.control_dependencies([gate]):
            return i + 1

    hr.while_loop(lambda i: i < 3, body, [0])
    add = graph.get_operation_by_name("while/add")
    assert all(c._context is add._context for c in add.control_inputs)
    with hr.control_dependencies([gate]):
        hr.while_loop(lambda i: i < 3, lambda i: i + 1, [hr.constant(0)], name="gated")
    assert listed(graph)["gated/Enter"][-1:] in [("Const_1:0",), ("^gate",), ("Const:0",)]


def test_tensors_in_control_flow_are_not_feedable_or_fetchable(graph):
    hr.cond(hr.placeholder(hr.bool, []), lambda: hr.constant(1.0, name="in"), lambda: 2.0)
    inside = graph.get_tensor_by_name("cond/in:0")
    assert not graph.is_fetchable(inside) and graph.is_feedable(inside)
    branches = []

    def body(i):
        branches.append(hr.cond(i > 1, lambda: hr.identity(i + 1, name="one"), lambda: i + 1))
        return branches[0]

    result = hr.while_loop(lambda i: i < 3, body, [0])
    assert graph.is_fetchable(result) and not graph.is_feedable(branches[0])
    assert not graph.is_feedable(graph.get_tensor_by_name("while/cond/one:0"))


def test_tensors_of_a_loop_are_refused_outside():
    inner = []

    def body(i):
        inner.append(i * 2)
        hr.while_loop(lambda j: j < 2, lambda j: inner.append(j * 3) or j + i, [0])
        return i + 1

    hr.while_loop(lambda i: i < 4, body, [0])
    words = r"Cannot use 'while/mul' as input to '{}' because {}\."
    with pytest.raises(ValueError, match=words.format("after", "'while/mul' is in a while loop")):
        hr.negative(inner[0], name="after")
    different = words.format("while_1/add", "they are in different while loops")
    with pytest.raises(ValueError, match=different):
        hr.while_loop(lambda i: i < 4, lambda i: i + inner[0], [0])
    with pytest.raises(ValueError, match="'while/while/mul' is in a while loop"):
        hr.cond(hr.placeholder(hr.bool), lambda: inner[1] + 1, lambda: 2)
    for value in inner:
        with pytest.raises(
            ValueError, match="from inside a control-flow construct, such as a loop"
        ):
            hr.Variable(value)


def test_shape_invariants_of_sparse_tensors_and_slices():
    def loop(value, double, invariant):
        return hr.while_loop(
            lambda i, v: i < 2, lambda i, v: (i + 1, double(v)), [0, value],
            shape_invariants=[hr.TensorShape([]), hr.TensorShape(invariant)],
        )[1]  # fmt: skip

    def twice(s):
        return hr.sparse.concat(0, [s, s])

    def rows_twice(s):
        rows, places = (hr.concat([x, x], 0) for x in (s.values, s.indices))
        return hr.IndexedSlices(rows, places, s.dense_shape)

    sparse = hr.SparseTensor([[0, 0], [1, 1]], [1.0, 2.0], [2, 2])
    assert loop(sparse, twice, [2]).indices.shape.as_list() == [None, 2]
    with pytest.raises(ValueError, match="Expected a shape with 1 dimension"):
        loop(sparse, twice, [None, 2])
    with pytest.raises(ValueError, match="is not compatible with the initial shape"):
        loop(sparse, twice, [3])
    slices = hr.IndexedSlices(hr.ones([2, 3]), hr.constant([0, 1]), hr.constant([5, 3]))
    found = loop(slices, rows_twice, [None, 3])
    assert [t.shape.as_list() for t in (found.values, found.indices)] == [[None, 3], [None]]
    with pytest.raises(ValueError, match="is not compatible with the initial shape"):
        loop(slices, rows_twice, [4, 3])
    with pytest.raises(ValueError, match="after one iteration"):
        loop(slices, rows_twice, [2, 3])


def test_branches_and_loops_accept_structures():
    p = hr.placeholder(hr.bool, [])
    x = hr.constant(1.0)
    got = hr.cond(p, lambda: {"a": x, "b": [x, x + 1]}, lambda: {"a": 2.0, "b": [x, x]})
    assert got["a"].dtype is hr.float32 and len(got["b"]) == 2
    out = hr.while_loop(
        lambda i, s: i < 3, lambda i, s: (i + 1, {"n": (s["n"][0] + 1.0,)}), (0, {"n": (x,)})
    )
    assert out[1]["n"][0].op.type == "Exit"
    assert isinstance(hr.cond(p, hr.no_op, lambda: hr.group(x)), hr.Tensor)
    assert isinstance(hr.cond(p, lambda: [x], lambda: [x], strict=True), list)


def test_a_reference_variable_is_switched_by_reference(graph):
    v = hr.Variable(1.0, name="v")
    hr.cond(hr.placeholder(hr.bool, []), lambda: hr.assign_add(v, 1.0), lambda: v.read_value())
    switch = graph.get_operation_by_name("cond/AssignAdd/Switch")
    assert switch.type == "RefSwitch" and switch.inputs[0] is v._ref()


@pytest.mark.parametrize(
    ("error", "text", "build"),
    [
        (TypeError, "must not be a Python bool", lambda: hr.cond(True, lambda: 1, lambda: 2)),
        (TypeError, "true_fn must be callable", lambda: hr.cond(hr.constant(True), 1, 2)),
        (ValueError, "must have a return value",
         lambda: hr.cond(hr.constant(True), lambda: None, lambda: 2)),
        (ValueError, "must have the same type.s.. Received int32 from true_fn and float32",
         lambda: hr.cond(hr.constant(True), lambda: 1, lambda: 2.0)),
        (ValueError, "Incompatible return types",
         lambda: hr.cond(hr.constant(True), lambda: [1, 2], lambda: [1])),
        (ValueError, "No loop variables", lambda: hr.while_loop(lambda: True, lambda: 1, [])),
        (ValueError, r"enters the loop with shape \[2\], but has shape \[4\] after one iteration",
         lambda: hr.while_loop(lambda x: True, double, [hr.zeros([2])])),
        (TypeError, "enters the loop with type int32, but has type float32",
         lambda: hr.while_loop(lambda x: True, lambda x: 1.0, [0])),
        (ValueError, "same nested structure",
         lambda: hr.while_loop(lambda x: True, lambda x: [x, x], [0])),
    ],
)  # fmt: skip
def test_incompatible_branches_and_loops_raise(error, text, build):
    with pytest.raises(error, match=text):
        build()


def double(x):
    return hr.concat([x, x], 0)


def test_shape_invariants_let_shapes_grow():
    out = hr.while_loop(
        lambda x: True, double, [hr.zeros([2])], shape_invariants=[hr.TensorShape([None])]
    )
    assert out.shape.as_list() == [None]
    with pytest.raises(ValueError, match="not compatible with the initial shape"):
        hr.while_loop(lambda x: True, double, [hr.zeros([2])], shape_invariants=[[3]])


def test_a_maximum_of_iterations_adds_a_counter(graph):
    out = hr.while_loop(lambda a: True, lambda a: a + 1.0, [0.0], maximum_iterations=5)
    assert out.dtype is hr.float32
    assert graph.get_operation_by_name("while/LogicalAnd") is not None


def test_case_runs_the_first_true_branch(graph):
    x = hr.placeholder(hr.float32, [])
    out = hr.case([(x < 1.0, lambda: 1.0), (x < 2.0, lambda: 2.0)], default=lambda: 3.0)
    assert out.op.type == "Merge"
    assert [o.type for o in graph.get_operations()].count("Merge") == 2
    hr.case([(x < 1.0, lambda: 1.0), (x < 2.0, lambda: 2.0)], exclusive=True)
    assert "Assert" in [o.type for o in graph.get_operations()]
    with pytest.raises(TypeError, match="2-tuple"):
        hr.case([x < 1.0])


def test_switch_case_selects_a_branch_by_index():
    i = hr.placeholder(hr.int32, [])
    assert hr.switch_case(i, [lambda: 1.0, lambda: 2.0, lambda: 3.0]).dtype is hr.float32
    with pytest.raises(ValueError, match="distinct"):
        hr.switch_case(i, [(0, lambda: 1.0), (0, lambda: 2.0)])
    for default in (None, lambda: 3.0):
        with pytest.raises(ValueError, match=r"contiguous range of \[0 to 2\) but found \{0,2\}"):
            hr.switch_case(i, {0: lambda: 1.0, 2: lambda: 2.0}, default)
    with pytest.raises(ValueError, match=r"found \{-1,0\}"):
        hr.switch_case(i, {-1: lambda: 1.0, 0: lambda: 2.0})


def test_branches_without_results_are_refused():
    pred = hr.placeholder(hr.bool, [])
    with pytest.raises(ValueError, match="must return at least one result"):
        hr.cond(pred, lambda: [], lambda: [])
    with pytest.raises(ValueError, match="must return at least one result"):
        hr.cond(pred, dict, dict)


def test_group_adds_one_node_per_device(graph):
    with hr.device("/cpu:0"):
        a = hr.constant(1.0, name="a")
    with hr.device("/cpu:1"):
        b = hr.constant(2.0, name="b")
    done = hr.group(a, [b], name="done")
    nodes = listed(graph)
    assert nodes["done"] == ("NoOp", "^done/NoOp", "^done/NoOp_1")
    assert nodes["done/NoOp"] == ("NoOp", "^a")
    assert graph.get_operation_by_name("done/NoOp_1").device == "/device:CPU:1"
    assert done.type == "NoOp"


def test_tuple_makes_each_output_depend_on_all_inputs(graph):
    a, b = hr.constant(1.0, name="a"), hr.constant(2.0, name="b")
    gated = hr.tuple([a, None, b], name="t")
    assert gated[1] is None
    assert [c.name for c in gated[0].op.control_inputs] == ["t/group_deps"]
    assert listed(graph)["t/group_deps"] == ("NoOp", "^a", "^b")


def test_gradient_of_a_loop_is_a_loop():
    x = hr.placeholder(hr.float32, [])
    out = hr.while_loop(lambda i: i < 3.0, lambda i: i + 1.0, [x])
    (grad,) = hr.gradients(out, [x])
    assert grad.op.type == "Exit" and grad.shape.as_list() == []


def test_assignment_of_an_outer_value_keeps_its_control_inputs_in_nested_loops():
    x = hr.placeholder(hr.float32, [])
    v = hr.get_variable("v", [], use_resource=True)
    created = {}

    def inner(i, value):
        before = value + 1.0
        with hr.control_dependencies([before]):
            assigned = hr.raw_ops.AssignVariableOp(resource=v.handle, value=x, name="put")
        created.update(before=before.op, assigned=assigned)
        return i + 1, value

    def outer(j, value):
        return j + 1, hr.while_loop(lambda i, _: i < 3, inner, (hr.constant(0), value))[1]

    hr.while_loop(lambda j, _: j < 2, outer, (hr.constant(0), x))
    assert created["before"] in created["assigned"].control_inputs
