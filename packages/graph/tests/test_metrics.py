"""Metrics: variables, collections, errors."""

from __future__ import annotations

import pytest

import headrace.graph as hr


def test_metrics_create_non_trainable_local_variables():
    hr.metrics.mean(hr.zeros([3]), name="loss")
    hr.metrics.precision(hr.ones([3]), hr.zeros([3]))
    names = [v.name for v in hr.local_variables()]
    assert names == [
        "loss/total:0",
        "loss/count:0",
        "precision/true_positives/count:0",
        "precision/false_positives/count:0",
    ]
    assert hr.get_collection(hr.GraphKeys.METRIC_VARIABLES) == hr.local_variables()
    assert hr.trainable_variables() == [] and hr.global_variables() == []


def test_metrics_return_a_value_and_an_update():
    value, update = hr.metrics.accuracy(
        hr.constant([1, 2]), hr.constant([1, 3]), updates_collections="updates"
    )
    assert (value.name, update.name) == ("accuracy/value:0", "accuracy/update_op:0")
    assert hr.get_collection("updates") == [update]
    assert value.shape.as_list() == [] and value.dtype == hr.float32


def test_a_column_of_labels_is_squeezed():
    value, _ = hr.metrics.accuracy(hr.zeros([4, 1]), hr.zeros([4]))
    assert value.shape.as_list() == []


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda x: hr.metrics.auc(x, x, curve="DET"), "DET unknown"),
        (lambda x: hr.metrics.auc(x, x, summation_method="most"), "Invalid summation_method"),
        (lambda x: hr.metrics.sensitivity_at_specificity(x, x, 2), r"in the range \[0, 1\]"),
        (lambda x: hr.metrics.mean(x, weights=hr.ones([2])), "weights can not be broadcast"),
        (lambda x: hr.metrics.accuracy(x, hr.zeros([4])), "incompatible"),
    ],
)
def test_invalid_metric_arguments_raise(make, says):
    with pytest.raises(ValueError, match=says):
        make(hr.zeros([3]))
