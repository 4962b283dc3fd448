"""contrib.framework: variables of models, and checks of tensors."""

from __future__ import annotations

import pytest

import headrace.graph as hr

framework = hr.contrib.framework


def names(variables):
    return [v.op.name for v in variables]


def test_model_variables_are_in_their_collections() -> None:
    with hr.variable_scope("a"):
        v = framework.model_variable("v", [2], initializer=hr.zeros_initializer())
        w = framework.variable("w", [3], collections=["mine", "mine"], trainable=False)
    assert hr.global_variables() == [v] and hr.model_variables() == [v]
    assert hr.get_collection("mine") == [w] and hr.trainable_variables() == [v]
    framework.add_model_variable(w)
    framework.add_model_variable(w)
    assert hr.model_variables() == [v, w]


def test_a_variable_is_placed_on_its_device() -> None:
    chooser = framework.VariableDeviceChooser(num_tasks=2)
    found = [framework.variable(f"v{i}", [1], device=chooser).device for i in range(3)]
    assert found == [f"/job:ps/task:{i}/device:CPU:0" for i in (0, 1, 0)]
    local = framework.VariableDeviceChooser()
    assert framework.variable("w", [1], device=local).device == "/device:CPU:0"


def test_untrained_variables() -> None:
    v = framework.local_variable(1.0, name="v")
    w = framework.global_variable([2.0], name="w")
    assert hr.local_variables() == [v] and hr.global_variables() == [w]
    assert hr.trainable_variables() == []


def test_variables_are_found_by_scope_and_suffix() -> None:
    for scope in ("a", "ab", "c"):
        with hr.variable_scope(scope):
            hr.get_variable("kernel", [1])
            hr.get_variable("bias", [1])
    hr.get_variable("kernel", [1])
    with hr.variable_scope("c") as c:
        pass
    get = framework.get_variables
    assert names(get("a/")) == ["a/kernel", "a/bias"] and names(get(c)) == ["c/kernel", "c/bias"]
    assert names(get(suffix="bias")) == ["a/bias", "ab/bias", "c/bias"]
    assert names(framework.get_variables_by_suffix("nel:0", "ab")) == ["ab/kernel"]
    assert len(framework.get_variables_by_name("kernel")) == 4
    assert names(framework.get_variables_by_name("bias", "c")) == ["c/bias"]
    assert framework.get_trainable_variables("c") == get("c")
    assert framework.get_local_variables() == framework.get_model_variables() == []
    restored = framework.get_variables_to_restore(exclude=["a", "c/bias"])
    assert names(restored) == ["c/kernel", "kernel"]
    assert names(framework.get_variables_to_restore(["c"])) == ["c/kernel", "c/bias"]
    with pytest.raises(TypeError, match="exclude is provided but is not a list or a tuple"):
        framework.get_variables_to_restore(exclude="a")
    kept = framework.filter_variables(get(), ["bias$", "^kernel"], ["^ab"])
    assert names(kept) == ["a/bias", "c/bias", "kernel"]
    assert framework.filter_variables(get(), ["bias"], reg_search=False) == []
    assert framework.get_unique_variable("a/bias").op.name == "a/bias"
    with pytest.raises(ValueError, match="Couldn't find variable x"):
        framework.get_unique_variable("x")
    with pytest.raises(ValueError, match="does not uniquely identify"):
        framework.get_unique_variable("a/b")


def test_the_full_name_of_a_part_is_that_of_the_whole() -> None:
    parts = hr.get_variable("v", [4, 2], partitioner=hr.fixed_size_partitioner(2))
    assert {framework.get_variable_full_name(part) for part in parts} == {"v"}


def test_a_global_step_is_checked_or_found() -> None:
    assert framework.assert_or_get_global_step() is None
    step = framework.get_or_create_global_step()
    assert framework.assert_or_get_global_step() is step
    assert framework.assert_or_get_global_step(global_step_tensor=step) is step
    with pytest.raises(TypeError):
        framework.assert_or_get_global_step(global_step_tensor=hr.constant(1.0))


def test_values_are_assigned_by_name() -> None:
    hr.get_variable("v", [2, 2])
    operation, feeds = framework.assign_from_values({"v": [1.0, 2.0, 3.0, 4.0]})
    assert isinstance(operation, hr.Operation)
    assert [value.shape for value in feeds.values()] == [(2, 2)]
    with pytest.raises(ValueError, match="Total size of new array must be unchanged for v"):
        framework.assign_from_values_fn({"v": [1.0]})


def test_checks_of_scalars_and_shapes() -> None:
    unknown = hr.placeholder(hr.float32)
    assert framework.assert_scalar_int(hr.constant(3)).dtype == hr.int32
    with pytest.raises(ValueError, match="Expected integer type"):
        framework.assert_scalar_int(1.0)
    with pytest.raises(ValueError, match="Expected scalar shape"):
        framework.assert_scalar_int([1])
    x = hr.zeros([2, 3])
    assert framework.with_shape([2, 3], x) is x
    assert framework.with_shape([2, None], unknown).shape.as_list() == [2, None]
    assert framework.with_same_shape(x, unknown).shape.as_list() == [2, 3]
    assert framework.with_same_shape(unknown, x).op.type == "Identity"
    with pytest.raises(ValueError, match="Incompatible static shapes"):
        framework.with_shape([3, 3], x)
    predictions, labels = framework.remove_squeezable_dimensions(hr.zeros([4, 1]), hr.zeros([4]))
    assert predictions.shape == labels.shape
    assert framework.reduce_sum_n([x]).shape.ndims == 0
    assert framework.reduce_sum_n([x, x]).op.type == "AddN"
    with pytest.raises(ValueError, match="No tensors provided"):
        framework.reduce_sum_n([])


def test_graphs_and_placeholders() -> None:
    x = hr.placeholder(hr.float32)
    graph = hr.get_default_graph()
    assert framework.get_placeholders(graph) == [x]
    assert framework.get_graph_from_inputs([x]) is graph
    with hr.Graph().as_default() as other:
        assert framework.get_graph_from_inputs([1]) is other
        with pytest.raises(ValueError, match="is not from the passed-in graph"):
            framework.get_graph_from_inputs([hr.constant(1), x])
    with hr.name_scope("a"), hr.name_scope("b"):
        assert framework.get_name_scope() == "a/b"


def test_conditionals_of_known_predicates_add_no_operation() -> None:
    smart = framework.smart_cond
    assert smart(True, lambda: 1, lambda: 2) == 1 and smart(hr.constant(False), int, str) == ""
    assert framework.smart_constant_value(hr.placeholder(hr.bool)) is None
    assert framework.smart_constant_value(1) is True
    for wrong in ("True", 2, None):
        with pytest.raises(TypeError, match="`pred` must be a Tensor, or a Python bool"):
            framework.smart_constant_value(wrong)
    with pytest.raises(TypeError, match="`true_fn` must be callable"):
        smart(True, 1, lambda: 2)
    p = hr.placeholder(hr.bool, [])
    assert smart(p, lambda: hr.constant(1), lambda: hr.constant(2)).op.type == "Merge"
    pairs = [(False, lambda: 1), (True, lambda: 2)]
    assert framework.smart_case(pairs, default=lambda: 3) == 2
    assert framework.smart_case(pairs[:1], default=lambda: 3) == 3
    chosen = framework.smart_case([(p, lambda: hr.constant(1))], default=lambda: hr.constant(2))
    assert isinstance(chosen, hr.Tensor)
