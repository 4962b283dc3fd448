"""Assertions fail at graph construction if possible, otherwise in a run."""

from __future__ import annotations

import pytest

import headrace.graph as hr


def test_static_values_fail_at_graph_construction():
    for check, args in [
        (hr.assert_equal, (1, 2)), (hr.assert_less, (2, 2)), (hr.assert_positive, ([1, 0],)),
        (hr.assert_non_positive, (1.0,)), (hr.assert_none_equal, ([1, 2], [3, 2])),
    ]:  # fmt: skip
        with pytest.raises(hr.errors.InvalidArgumentError, match="did not hold"):
            check(*args, message="note")


def test_unknown_values_are_checked_at_run_time():
    x = hr.placeholder(hr.float32, [None])
    check = hr.assert_less(x, 3.0, message="too much")
    assert "Assert" in {node.type for node in hr.get_default_graph().get_operations()}
    assert isinstance(check, hr.Operation)


def test_assertion_on_a_static_rank_adds_no_node():
    x = hr.placeholder(hr.float32, [None, 3])
    assert hr.assert_rank(x, 2).type == "NoOp"
    assert hr.assert_rank_in(x, [1, 2]).type == "NoOp"
    with pytest.raises(ValueError, match=r"note.  Tensor .* must have rank 1.  Received rank 2"):
        hr.assert_rank(x, 1, message="note")
    with pytest.raises(ValueError, match="at least 3"):
        hr.assert_rank_at_least(x, 3)
    with pytest.raises(ValueError, match="Expected scalar shape"):
        hr.assert_scalar(x)
    with pytest.raises(TypeError, match="rank must be an integer"):
        hr.assert_rank(x, 1.5)


def test_sizes_with_the_same_name_are_equal():
    x = hr.placeholder(hr.float32, [4, 3])
    y = hr.placeholder(hr.float32, [3, 5])
    hr.debugging.assert_shapes({x: ("n", "k"), y: ("k", 5)})
    with pytest.raises(ValueError, match="dimension 0 must have size 4"):
        hr.debugging.assert_shapes([(x, ("n", "k")), (y, ("n", "m"))])
    with pytest.raises(ValueError, match="must have rank 3"):
        hr.debugging.assert_shapes([(x, (4, 3, 1))])
    hr.debugging.assert_shapes([(x, ("*", 3)), (y, (3, "*"))])


def test_dtypes_are_checked_at_graph_construction():
    x = hr.placeholder(hr.float32, [4, 3])
    hr.assert_type(x, hr.float32)
    with pytest.raises(TypeError, match="must be of type int32, is float32"):
        hr.assert_type(x, hr.int32)
    with pytest.raises(TypeError, match="integer type"):
        hr.assert_integer(x)
    assert hr.assert_same_float_dtype([x, None]) == hr.float32
    with pytest.raises(ValueError, match="Expected .* to be of type float32, is float64"):
        hr.assert_same_float_dtype([x, hr.constant(1.0, hr.float64)])
    assert hr.is_numeric_tensor(x) and not hr.is_numeric_tensor(hr.constant("a"))
    with pytest.raises(TypeError, match="proper"):
        hr.assert_proper_iterable(x)
    hr.assert_proper_iterable([x])


def test_add_check_numerics_ops_chains_its_checks():
    a = hr.constant(1.0)
    b = a * 2.0
    hr.add_check_numerics_ops()
    checks = [n for n in hr.get_default_graph().get_operations() if n.type == "CheckNumerics"]
    assert [c.inputs[0] for c in checks][0] is a and b in [c.inputs[0] for c in checks]
    assert checks[1].control_inputs == (checks[0],) or checks[0] in checks[1].control_inputs
    hr.cond(b > 1.0, lambda: a * 1.0, lambda: b)
    with pytest.raises(ValueError, match="does not work with cond or while_loop"):
        hr.add_check_numerics_ops()
