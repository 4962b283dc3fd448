"""Losses: collections, names, errors."""

from __future__ import annotations

import pytest

import headrace.graph as hr


def test_losses_are_collected_by_scope():
    with hr.name_scope("tower"):
        loss = hr.losses.mean_squared_error(hr.zeros([2, 3]), hr.ones([2, 3]))
    assert loss.name == "tower/mean_squared_error/value:0"
    assert hr.get_collection(hr.GraphKeys.LOSSES) == [loss]
    assert hr.losses.get_losses("tower") == [loss] and hr.losses.get_losses("other") == []


def test_loss_collection_can_be_changed_or_none():
    x = hr.zeros([2])
    mine = hr.losses.absolute_difference(x, x, loss_collection="mine")
    hr.losses.absolute_difference(x, x, loss_collection=None)
    assert hr.losses.get_losses() == []
    assert hr.losses.get_losses(loss_collection="mine") == [mine]


def test_a_loss_is_a_scalar_unless_it_is_not_reduced():
    x = hr.placeholder("float32", [None, 3])
    assert hr.losses.huber_loss(x, x).shape.as_list() == []
    assert hr.losses.huber_loss(x, x, reduction="none").shape.as_list() == [None, 3]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda x: hr.losses.log_loss(None, x), "`labels` must not be None"),
        (lambda x: hr.losses.hinge_loss(x, None), "`logits` must not be None"),
        (lambda x: hr.losses.cosine_distance(x, x), "must specify argument `axis`"),
        (lambda x: hr.losses.log_loss(hr.zeros([3, 2]), x), "incompatible"),
        (lambda x: hr.losses.log_loss(x, x, reduction="most"), "Invalid Reduction Key most"),
        (lambda x: hr.losses.log_loss(x, x, hr.ones([2])), "weights can not be broadcast"),
        (lambda x: hr.losses.log_loss(x, x, hr.ones([2, 2])), "weights can not be broadcast"),
    ],
)
def test_invalid_loss_arguments_raise(make, says):
    with pytest.raises(ValueError, match=says):
        make(hr.zeros([2, 3]))
