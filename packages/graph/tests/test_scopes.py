from __future__ import annotations

import threading

import pytest

import headrace.graph as hr


def test_names_are_unique_ignoring_case():
    assert hr.constant(1, name="a").op.name == "a"
    assert hr.constant(1, name="A").op.name == "A_1"
    assert hr.constant(1, name="a").op.name == "a_2"
    assert hr.constant(1, name="a_2").op.name == "a_2_1"


def test_name_scopes_nest_repeat_and_can_be_reentered():
    with hr.name_scope("x") as scope:
        assert scope == "x/"
        with hr.name_scope("y"):
            assert hr.constant(1, name="c").op.name == "x/y/c"
    with hr.name_scope("x"):
        assert hr.constant(1, name="c").op.name == "x_1/c"
    with hr.name_scope("x/"):
        assert hr.constant(1, name="c").op.name == "x/c"
        with hr.name_scope(None):
            assert hr.constant(1, name="c").op.name == "c"


def test_default_name_is_used_if_name_is_none():
    with hr.name_scope(None, "layer", []):
        assert hr.get_default_graph().get_name_scope() == "layer"
    with pytest.raises(ValueError, match="At least one of name"):
        hr.name_scope(None, None, [])


@pytest.mark.parametrize("bad", ["_a", "a b", "ä", "-"])
def test_invalid_node_names_raise(bad):
    with pytest.raises(ValueError):
        hr.constant(1, name=bad)
    with pytest.raises(ValueError):
        with hr.name_scope(bad):
            pass


def test_scope_is_restored_after_an_error():
    with pytest.raises(KeyError):
        with hr.name_scope("x"), hr.device("/cpu:0"):
            raise KeyError
    c = hr.constant(1, name="c")
    assert c.op.name == "c" and c.op.device == ""


def test_inner_devices_take_precedence():
    with hr.device("/job:ps/task:1"), hr.device("/gpu:2"):
        assert hr.constant(1).op.device == "/job:ps/task:1/device:GPU:2"
        with hr.device("/task:0"):
            assert hr.constant(1).op.device == "/job:ps/task:0/device:GPU:2"
        with hr.device(None):
            assert hr.constant(1).op.device == ""


def test_device_function_receives_the_operation():
    def choose(op):
        return "/gpu:0" if op.type == "Neg" else op.device

    with hr.device("/cpu:0"), hr.device(choose):
        c = hr.constant(1.0)
        assert c.op.device == "/device:CPU:0"
        assert (-c).op.device == "/device:GPU:0"


def test_invalid_device_raises():
    with pytest.raises(ValueError, match="/nonsense:0"):
        with hr.device("/nonsense:0"):
            pass


def test_redundant_control_inputs_are_not_added():
    a = hr.constant(1.0, name="a")
    b = hr.constant(2.0, name="b")
    with hr.control_dependencies([a, b.op]):
        c = hr.constant(3.0)
        d = c + a
    assert [o.name for o in c.op.control_inputs] == ["a", "b"]
    assert d.op.control_inputs == ()  # c already depends on both
    with hr.control_dependencies([a]):
        with hr.control_dependencies([b]):
            assert len(hr.constant(1.0).op.control_inputs) == 2
            with hr.control_dependencies(None):
                assert hr.constant(1.0).op.control_inputs == ()


def test_colocation_overrides_the_device():
    with hr.device("/cpu:1"):
        a = hr.constant(1.0, name="a")
    with hr.device("/gpu:0"), hr.colocate_with(a):
        b = hr.constant(2.0, name="b")
        assert b.op.device == "/device:CPU:1"
        assert b.op.get_attr("_class") == [b"loc:@a"]
        with hr.colocate_with(b):
            assert hr.constant(1.0).op.colocation_groups() == [b"loc:@a"]
        with hr.colocate_with(None, ignore_existing=True):
            assert hr.constant(1.0).op.colocation_groups() == [b"loc:@Const_1"]


def test_container_applies_to_stateful_ops():
    with hr.container("mine"):
        v = hr.Variable(1.0)
    assert v.op.get_attr("container") == b"mine"


def test_scopes_are_thread_local(graph):
    names = []

    def build():
        with graph.as_default():
            names.append(hr.constant(1, name="c").op.name)

    with hr.name_scope("mine"):
        thread = threading.Thread(target=build)
        thread.start()
        thread.join()
    assert names == ["c"]


def test_gradient_overrides_set_an_attribute(graph):
    with graph.gradient_override_map({"Neg": "MyNeg"}):
        y = -hr.constant(1.0)
    assert y.op.get_attr("_gradient_op_type") == b"MyNeg"
