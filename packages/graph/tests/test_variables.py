from __future__ import annotations

import pytest

import headrace.graph as hr
from headrace.graph.variables.ref_variable import RefVariable
from headrace.graph.variables.resource_variable import ResourceVariable


def listed(graph):
    return {
        o.name: (o.type, *[t.name for t in o.inputs], *["^" + c.name for c in o.control_inputs])
        for o in graph.get_operations()
    }


def test_a_reference_variable_has_the_nodes_of_tensorflow(graph):
    v = hr.Variable([1.0, 2.0], name="v")
    assert listed(graph) == {
        "v/initial_value": ("Const",),
        "v": ("VariableV2",),
        "v/Assign": ("Assign", "v:0", "v/initial_value:0"),
        "v/read": ("Identity", "v:0"),
    }
    assert graph.get_operation_by_name("v/Assign").get_attr("_class") == [b"loc:@v"]
    assert isinstance(v, hr.Variable) and isinstance(v, RefVariable)
    assert v.dtype is hr.as_dtype("float32_ref") and v.shape == [2] and v.name == "v:0"


def test_a_resource_variable_has_the_nodes_of_tensorflow(graph):
    v = hr.Variable([1.0, 2.0], name="v", use_resource=True)
    assert isinstance(v, ResourceVariable) and v.dtype is hr.float32
    y = v + 1.0
    assert listed(graph) == {
        "v/Initializer/initial_value": ("Const",),
        "v": ("VarHandleOp",),
        "v/IsInitialized/VarIsInitializedOp": ("VarIsInitializedOp", "v:0"),
        "v/Assign": ("AssignVariableOp", "v:0", "v/Initializer/initial_value:0"),
        "v/Read/ReadVariableOp": ("ReadVariableOp", "v:0"),
        "add/y": ("Const",),
        "ReadVariableOp": ("ReadVariableOp", "v:0"),
        "add": ("AddV2", "ReadVariableOp:0", "add/y:0"),
    }
    assert y.shape == [2]
    assert v.op.get_attr("shared_name") == b"v"


def test_operations_of_an_initial_function_are_colocated(graph):
    hr.Variable(lambda: hr.constant(1.0) + 1.0, name="v")
    assert graph.get_operation_by_name("v/Initializer/add").get_attr("_class") == [b"loc:@v"]


def test_an_initial_value_may_read_other_variables(graph):
    v = hr.Variable(1.0, name="v")
    hr.Variable(v * 2.0, name="w")
    source = graph.get_operation_by_name("w/Assign").inputs[1].op
    assert source.name == "mul_w"
    assert source.inputs[0].op.inputs[0].op.type == "Merge"  # the cond of initialized_value


def test_collections_follow_trainable():
    a = hr.Variable(1.0)
    b = hr.Variable(1.0, trainable=False, collections=["mine"])
    assert hr.global_variables() == [a] == hr.trainable_variables()
    assert hr.get_collection("mine") == [b]


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables_round_trip_through_messages(use_resource, graph):
    v = hr.Variable([1.0], name="v", use_resource=use_resource, trainable=False)
    message = v.to_proto()
    assert message.is_resource is use_resource and message.initializer_name == "v/Assign"
    w = hr.Variable.from_proto(message)
    assert type(w) is type(v) and w.op is v.op and w.initializer is v.initializer
    assert w.initial_value is v.initial_value and not w.trainable
    assert v.to_proto(export_scope="other") is None


@pytest.mark.parametrize("use_resource", [False, True])
def test_variable_keeps_its_value_in_a_session(use_resource, service):
    v = hr.Variable(3.0, use_resource=use_resource)
    set_to_5 = v.assign(5.0)
    with hr.Session() as sess:
        with pytest.raises(hr.errors.FailedPreconditionError, match=r"test_variables.py:\d+"):
            sess.run(v)
        sess.run(hr.global_variables_initializer())
        assert sess.run(v) == 3.0 and sess.run(v + 1.0) == 4.0
        assert sess.run(set_to_5) == 5.0 and sess.run(v) == 5.0


def test_assignments_of_other_dtypes_and_shapes_raise():
    v = hr.Variable([1.0, 2.0], name="v")
    with pytest.raises(TypeError, match="Expected float32 passed to parameter 'value'"):
        v.assign(["a", "b"])
    with pytest.raises(ValueError, match="Assign"):
        v.assign([1.0, 2.0, 3.0])
    r = hr.Variable([1.0, 2.0], name="r", use_resource=True)
    with pytest.raises(ValueError, match=r"Shapes \(2,\) and \(3,\) are incompatible"):
        r.assign([1.0, 2.0, 3.0])


def test_in_place_operators_raise():
    v = hr.Variable(1.0)
    with pytest.raises(RuntimeError, match="assign_add"):
        v += 1.0


def test_initial_value_of_unknown_shape_raises():
    with pytest.raises(ValueError, match="must have a shape specified"):
        hr.Variable(hr.placeholder(hr.float32))
    assert hr.Variable(hr.placeholder(hr.float32), validate_shape=False).shape.ndims is None
    with pytest.raises(ValueError, match="initial_value must be specified"):
        hr.Variable()


def test_scatter_methods_work_on_both_kinds_of_variables():
    for use_resource in (False, True):
        v = hr.Variable([[1.0], [2.0]], use_resource=use_resource)
        done = hr.scatter_add(v, [0], [[5.0]])
        assert done.shape == [2, 1]
        slices = hr.IndexedSlices(hr.constant([[1.0]]), hr.constant([1]))
        assert v.scatter_sub(slices).dtype.base_dtype is hr.float32


def test_uninitialised_variables_are_reported_by_name(graph):
    hr.Variable(1.0, name="a")
    hr.Variable(1.0, name="b", use_resource=True)
    report = hr.report_uninitialized_variables()
    assert report.dtype is hr.string
    names = graph.get_operation_by_name("report_uninitialized_variables/Const")
    assert names._attrs.values["value"].tolist() == [b"a", b"b"]


def test_a_variable_made_in_a_branch_is_lifted_out(graph):
    result = []

    def branch():
        result.append(hr.Variable(1.0, name="v"))
        return result[0].read_value()

    hr.cond(hr.placeholder(hr.bool, []), branch, lambda: 2.0)
    assert result[0].op._context is None and result[0].initializer._context is None


def test_resource_variables_may_be_the_default():
    try:
        hr.enable_resource_variables()
        assert hr.resource_variables_enabled()
        assert hr.get_variable("a", [1]).op.type == "VarHandleOp"
        assert hr.get_variable("b", [1], use_resource=False).op.type == "VariableV2"
    finally:
        hr.disable_resource_variables()
    assert hr.Variable(1.0).op.type == "VariableV2"


def test_a_resource_variable_takes_a_more_exact_shape():
    v = hr.Variable(hr.placeholder(hr.float32), use_resource=True)
    v.set_shape([None, 3])
    assert v.shape.as_list() == v._as_graph_element().shape.as_list() == [None, 3]
    with pytest.raises(ValueError):
        v.set_shape([2])


def test_slices_of_each_batch_are_set():
    v = hr.Variable(hr.zeros([2, 3, 4]))
    delta = hr.IndexedSlices(hr.ones([2, 1, 4]), hr.constant([[0], [2]]))
    assert v.batch_scatter_update(delta).shape == [2, 3, 4]
