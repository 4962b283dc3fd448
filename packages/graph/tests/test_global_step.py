"""The global step: creation, lookup, checks."""

from __future__ import annotations

import pytest

import headrace.graph as hr


def test_global_step_is_created_once():
    assert hr.train.get_global_step() is None
    step = hr.train.get_or_create_global_step()
    assert hr.train.get_global_step() is step
    assert hr.train.get_or_create_global_step() is step
    assert step.dtype.base_dtype == hr.int64 and step.shape == []
    with pytest.raises(ValueError, match="already exists"):
        hr.train.create_global_step()


def test_global_step_must_be_an_integer_scalar():
    hr.train.assert_global_step(hr.Variable(0))
    with pytest.raises(TypeError):
        hr.train.assert_global_step(hr.Variable(0.5))
    with pytest.raises(TypeError):
        hr.train.assert_global_step(hr.Variable([0, 0]))


def test_global_step_reads_the_value_in_a_session(service):
    step = hr.train.get_or_create_global_step()
    with hr.Session() as session:
        session.run(step.initializer)
        assert hr.train.global_step(session, step) == 0


def test_an_optimizer_increments_a_global_step_found_by_its_name(graph):
    # tf.Variable adds it to no collection, so that get_global_step returns its tensor
    step, w = hr.Variable(0, name="global_step", trainable=False), hr.Variable(3.0)
    found = hr.train.get_global_step()
    assert isinstance(found, hr.Tensor)
    train = hr.train.GradientDescentOptimizer(0.1).minimize(w * w, global_step=found)
    assert (train.type, train.name) == ("AssignAdd", "GradientDescent")
    assert train.inputs[0].op is step.op
