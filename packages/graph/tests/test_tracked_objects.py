from __future__ import annotations

import headrace.graph as hr
from headrace.graph.checkpoints.tracked_objects import ObjectGraph, children_of, is_trackable


def test_variables_have_the_keys_of_the_shortest_paths():
    a, b = hr.Variable(1.0, name="a"), hr.Variable(2.0, name="b")
    inner = hr.train.Checkpoint(a=a)
    root = hr.train.Checkpoint(z=a, inner=inner, more=[a, b], named={"x/y": hr.Variable(3.0)})
    assert list(ObjectGraph(root).values) == [
        "z/.ATTRIBUTES/VARIABLE_VALUE",
        "more/1/.ATTRIBUTES/VARIABLE_VALUE",
        "named/x.Sy/.ATTRIBUTES/VARIABLE_VALUE",
    ]


def test_layers_and_optimizers_are_tracked():
    layer = hr.layers.Dense(3)
    layer(hr.zeros([2, 4]))
    optimizer = hr.train.MomentumOptimizer(0.1, 0.9)
    optimizer.minimize(hr.reduce_sum(layer.kernel), var_list=[layer.kernel])
    assert {name for name, _ in children_of(layer)} >= {"kernel", "bias"}
    keys = ObjectGraph(hr.train.Checkpoint(layer=layer, optimizer=optimizer)).values
    assert "layer/kernel/.OPTIMIZER_SLOT/optimizer/momentum/.ATTRIBUTES/VARIABLE_VALUE" in keys
    assert not any(map(is_trackable, (5, "text", hr.constant(1.0), [5])))


def test_objects_are_matched_by_names_from_the_root():
    a, b = hr.Variable(1.0), hr.Variable(2.0)
    saved = ObjectGraph(hr.train.Checkpoint(x=hr.train.Checkpoint(a=a), y=b)).message
    other = ObjectGraph(hr.train.Checkpoint(x=hr.train.Checkpoint(a=b), z=a))
    assert other.matched(saved) == {"x/a/.ATTRIBUTES/VARIABLE_VALUE": b}
