from __future__ import annotations

import pytest

import headrace.graph as hr


def test_get_variable_returns_existing_variables():
    with hr.variable_scope("a"):
        v = hr.get_variable("v", [2])
    with hr.variable_scope("a", reuse=True):
        assert hr.get_variable("v", [2]) is v
        assert hr.get_variable("v") is v
    with hr.variable_scope("a", reuse=hr.AUTO_REUSE):
        assert hr.get_variable("v") is v
        w = hr.get_variable("w", [1])
    assert (v.name, w.name) == ("a/v:0", "a/w:0")


def test_violations_of_reuse_raise():
    hr.get_variable("v", [2])
    with pytest.raises(ValueError, match=r"Variable v already exists, disallowed .*test_variable"):
        hr.get_variable("v", [2])
    with hr.variable_scope("s", reuse=True):
        with pytest.raises(ValueError, match="Variable s/w does not exist"):
            hr.get_variable("w", [1])
    with hr.variable_scope(hr.get_variable_scope(), reuse=True):
        with pytest.raises(ValueError, match=r"specified shape \(3,\) and found shape \(2,\)"):
            hr.get_variable("v", [3])
        with pytest.raises(ValueError, match="specified dtype int32 and found dtype float32_ref"):
            hr.get_variable("v", [2], hr.int32)


def test_default_names_are_unique_and_open_a_name_scope():
    for expected in ("d", "d_1"):
        with hr.variable_scope(None, default_name="d") as scope:
            assert scope.name == expected
            assert hr.get_variable("v", [1]).name == f"{expected}/v:0"
            assert hr.constant(1.0, name="c").op.name == f"{expected}/c"
    with hr.variable_scope("d", reuse=True):  # a new name scope with the same variables
        assert hr.get_variable("v").name == "d/v:0"
        assert hr.constant(1.0, name="c").op.name == "d_2/c"


def test_scope_object_can_be_reentered_from_anywhere():
    with hr.variable_scope("a") as a:
        hr.get_variable("v", [1])
    with hr.variable_scope("b"), hr.variable_scope(a, reuse=True) as again:
        assert again.name == "a" and again.original_name_scope == "a/"
        assert hr.get_variable("v").name == "a/v:0"


def test_defaults_are_inherited_and_overridden():
    ones = hr.ones_initializer()
    with hr.variable_scope("a", initializer=ones, dtype=hr.float64, use_resource=True):
        with hr.variable_scope("b"):
            v = hr.get_variable("v", [2])
    assert v.dtype is hr.float64 and hasattr(v, "handle")
    assert v.initial_value.op.name == "a/b/v/Initializer/ones"


def test_a_regularizer_adds_its_loss():
    with hr.variable_scope("a", regularizer=lambda v: v.value() * 0.1):
        hr.get_variable("v", [2])
        hr.get_variable("w", [2], regularizer=hr.no_regularizer)
    losses = hr.get_collection(hr.GraphKeys.REGULARIZATION_LOSSES)
    assert [t.name for t in losses] == ["a/v/Regularizer/mul:0"]


def test_custom_getters_are_nested():
    calls = []

    def getter(label):
        def get(getter, name, *args, **kwargs):
            calls.append(label)
            return getter(name + label, *args, **kwargs)

        return get

    with hr.variable_scope("s", custom_getter=getter("1")):
        with hr.variable_scope("t", custom_getter=getter("2")):
            assert hr.get_variable("v", [1]).name == "s/t/v21:0"
    assert calls == ["2", "1"]


def test_partitioner_splits_a_variable():
    v = hr.get_variable("v", [5, 2], partitioner=hr.fixed_size_partitioner(2))
    assert [p.shape.as_list() for p in v] == [[3, 2], [2, 2]]
    assert [p.name for p in v] == ["v/part_0:0", "v/part_1:0"]
    assert list(v)[1]._get_save_slice_info().spec == "5 2 3,2:0,2"
    assert hr.convert_to_tensor(v).shape == [5, 2]
    with hr.variable_scope(hr.get_variable_scope(), reuse=True):
        assert hr.get_variable("v", [5, 2], partitioner=hr.fixed_size_partitioner(2)) is v
        assert hr.get_variable("v") is v
    sizes = hr.variable_axis_size_partitioner(max_shard_bytes=8)(
        shape=hr.TensorShape([4, 2]), dtype=hr.float32
    )
    assert sizes == [4, 1]


def test_constant_initializer_excludes_a_shape():
    assert hr.get_variable("v", initializer=hr.constant([1, 2])).dtype.base_dtype is hr.int32
    with pytest.raises(ValueError, match="do not specify shape"):
        hr.get_variable("w", [2], initializer=hr.constant([1, 2]))
    with pytest.raises(ValueError, match="initializer passed is not valid"):
        hr.get_variable("x", initializer=hr.zeros_initializer())
    assert hr.get_variable("i", [2], hr.int32).initial_value.op.type == "Const"


def test_a_creator_scope_sees_every_variable():
    result = []

    def creator(following, **kwargs):
        result.append(kwargs["name"])
        return following(**{**kwargs, "trainable": False})

    with hr.variable_creator_scope(creator):
        assert not hr.get_variable("v", [1]).trainable
        assert not hr.Variable(1.0, name="w").trainable
    assert result == ["v", "w"]


def test_a_template_shares_its_variables():
    def layer(x, n):
        return x * hr.get_variable("w", [n])

    template = hr.make_template("layer", layer, n=2)
    template(hr.constant([1.0, 2.0]))
    template(hr.constant([3.0, 4.0]))
    assert [v.name for v in template.trainable_variables] == ["layer/w:0"]
    assert template.variable_scope_name == "layer"
    other = hr.make_template("layer", layer, n=2)
    other(hr.constant([1.0, 2.0]))
    assert other.variable_scope_name == "layer_1"


def test_local_variables_are_neither_trained_nor_global():
    v = hr.get_local_variable("v", [1])
    assert (
        hr.local_variables() == [v] and not hr.trainable_variables() and not hr.global_variables()
    )
