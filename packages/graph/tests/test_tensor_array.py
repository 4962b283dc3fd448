"""TensorArray in the graph: nodes, static shapes, colocation, names of gradient arrays."""

from __future__ import annotations

import pytest

import headrace.graph as hr
from headrace.graph.autodiff.gradient_calls import gradient_call, gradient_call_name


def test_nodes_and_attributes() -> None:
    with hr.Graph().as_default() as graph:
        array = hr.TensorArray("float32", size=3, element_shape=[None, 2], tensor_array_name="t")
        array = array.write(0, hr.zeros([4, 2]), name="w")
        array.read(1)
        node = graph.get_operation_by_name("TensorArray")
        types = [op.type for op in graph.get_operations() if op.type.startswith("TensorArray")]
    assert types == ["TensorArrayV3", "TensorArrayWriteV3", "TensorArrayReadV3"]
    assert node.get_attr("identical_element_shapes") and node.get_attr("clear_after_read")
    assert array.handle.shape.as_list() == [2] and array.flow.shape.as_list() == []
    assert array.dtype is hr.float32 and not array.dynamic_size


def test_static_shapes_of_elements() -> None:
    array = hr.TensorArray("float32", size=3)
    assert array.element_shape.ndims is None and array.read(0).shape.ndims is None
    later = array.write(0, hr.zeros([4, 2]))
    assert array.element_shape.as_list() == later.element_shape.as_list() == [4, 2]
    assert later.read(0).shape.as_list() == [4, 2]
    assert later.stack().shape.as_list() == [3, 4, 2]
    assert later.gather([0]).shape.as_list() == [1, 4, 2]
    assert later.concat().shape.as_list() == [None, 2]
    split = hr.TensorArray("float32", size=2).split(hr.zeros([6, 5]), [3, 3])
    assert split.element_shape.as_list() == [3, 5]
    free = hr.TensorArray("float32", size=2, infer_shape=False).write(0, [1.0])
    assert free.element_shape.ndims is None


def test_an_array_is_on_the_device_of_its_first_value() -> None:
    with hr.Graph().as_default() as graph:
        with hr.device("/cpu:1"):
            value = hr.zeros([2])
        with hr.device("/cpu:0"):
            hr.TensorArray("float32", size=1, name="first").write(0, value, name="near")
            hr.TensorArray(
                "float32", size=1, colocate_with_first_write_call=False, name="second"
            ).write(0, value, name="far")
        devices = {op.name: op.device for op in graph.get_operations()}
    assert devices["first"] == "" and devices["second"] == "/device:CPU:0"
    assert devices["near/near"] == "/device:CPU:1"
    assert devices["far/far"] == "/device:CPU:0"


def test_identity_depends_on_control_inputs() -> None:
    array = hr.TensorArray("float32", size=1)
    with hr.control_dependencies([hr.no_op(name="before")]):
        after = array.identity()
    assert [op.name for op in after.flow.op.control_inputs] == ["before"]
    assert after.handle is array.handle


def test_arrays_pass_through_loops_and_branches() -> None:
    _, array = hr.while_loop(
        lambda i, _: i < 2,
        lambda i, a: (i + 1, a.write(i, [1.0])),
        (hr.constant(0), hr.TensorArray("float32", size=2)),
    )
    chosen = hr.cond(hr.constant(True), lambda: array, lambda: array.identity())
    assert isinstance(chosen, hr.TensorArray)
    assert chosen.stack().shape.as_list() == [2, 1]


def test_the_name_of_a_call_of_gradients_is_its_scope() -> None:
    assert gradient_call_name() == "gradients"
    with gradient_call("a/gradients_1/"):
        with gradient_call("b/"):
            assert gradient_call_name() == "b"
        assert gradient_call_name() == "a/gradients_1"


def test_grad_is_an_array_of_the_same_elements() -> None:
    array = hr.TensorArray("float64", size=2, element_shape=[3])
    grad = array.grad("mine")
    assert grad.handle.op.type == "TensorArrayGradV3"
    assert grad.handle.op.get_attr("source") in (b"mine", "mine")
    assert grad.element_shape.as_list() == [3] and grad.dtype is hr.float64
    with pytest.raises(ValueError, match="Inconsistent shapes"):
        grad.write(0, hr.zeros([4], "float64"))
