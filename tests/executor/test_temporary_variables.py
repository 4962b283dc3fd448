"""RefSelect, TemporaryVariable and DestroyTemporaryVariable.

Modules: kernels/temporary_variables, kernels/reference_kernels.
"""

from __future__ import annotations

import pytest

import headrace.graph as hr

raw = hr.raw_ops


@pytest.fixture
def session():
    with hr.Graph().as_default(), hr.Session() as session:
        yield session


def _variables(session, *values, initialised: bool = True) -> list:
    made = [hr.Variable(value, use_resource=False) for value in values]
    if initialised:
        session.run([variable.initializer for variable in made])
    return made


def _temporary(name: str = "x", value=(1.0, 2.0), shape=(2,), **attributes):
    made = raw.TemporaryVariable(
        shape=shape, dtype=attributes.pop("dtype", hr.float32), var_name=name
    )
    return raw.Assign(ref=made, value=list(value), **attributes)


# ---- references that are chosen when the step runs ----


@pytest.mark.host_execution("refers to a variable, already placed, by an op that only the CPU has")
def test_what_is_selected_is_read_and_written(session) -> None:
    a, b = _variables(session, [1.0, 2.0], [3.0, 4.0])
    index = hr.placeholder(hr.int32, [])
    selected = raw.RefSelect(index=index, inputs=[a._ref(), b._ref()])
    assert selected.shape == (2,)
    added = raw.AssignAdd(ref=raw.AssignAdd(ref=selected, value=[10.0, 10.0]), value=[1.0, 0.0])
    value = added * 1.0
    for at, expected in ((0, [12, 12]), (1, [14, 14]), (0, [23, 22]), (1, [25, 24])):
        assert session.run(value, {index: at}).tolist() == expected
    assert session.run([a, b])[1].tolist() == [25, 24]
    assert session.run(selected + 0.0, {index: 1}).tolist() == [25, 24]
    scattered = raw.ScatterAdd(ref=selected, indices=[1], updates=[5.0]) * 1.0
    assert session.run(scattered, {index: 0}).tolist() == [23, 27]


@pytest.mark.host_execution("refers to a variable, already placed, by an op that only the CPU has")
def test_invalid_selections(session) -> None:
    a, b = _variables(session, [1.0, 2.0], [3.0])
    (empty,) = _variables(session, 1.0, initialised=False)
    for at in (2, -1):
        selected = raw.RefSelect(index=at, inputs=[a._ref(), b._ref()])
        with pytest.raises(
            hr.errors.InvalidArgumentError, match=rf"must be in the range \[0, 2\) but got {at}"
        ):
            session.run(selected)
    with pytest.raises(hr.errors.FailedPreconditionError, match="uninitialized value"):
        session.run(raw.RefSelect(index=0, inputs=[a._ref(), empty._ref()]).op)
    with pytest.raises(ValueError, match="rank 0"):
        raw.RefSelect(index=[0], inputs=[a._ref()])


@pytest.mark.parametrize("op", ["AssignAdd", "ScatterAdd", "ApplyGradientDescent"])
def test_an_update_returns_the_variable_of_this_run(session, op: str) -> None:
    a, b = _variables(session, [1.0, 2.0], [100.0, 200.0])
    predicate = hr.placeholder(hr.bool, [])
    first, _ = raw.RefSwitch(data=a._ref(), pred=predicate)
    _, second = raw.RefSwitch(data=b._ref(), pred=predicate)
    merged, _ = raw.RefMerge(inputs=[first, second])
    if op == "AssignAdd":
        updated = raw.AssignAdd(ref=merged, value=[1.0, 0.0])
    elif op == "ScatterAdd":
        updated = raw.ScatterAdd(ref=merged, indices=[0], updates=[1.0])
    else:
        updated = raw.ApplyGradientDescent(var=merged, alpha=-1.0, delta=[1.0, 0.0])
    value = raw.AssignAdd(ref=updated, value=[1.0, 1.0]) * 1.0
    for at, expected in ((False, [3, 3]), (True, [102, 201]), (False, [5, 4]), (True, [104, 202])):
        assert session.run(value, {predicate: at}).tolist() == expected


# ---- temporary variables ----


def test_a_sum_in_a_temporary_variable(session) -> None:
    begun = _temporary(value=[0.0, 0.0])
    fed = hr.placeholder(hr.float32, [2])
    with hr.control_dependencies([raw.AssignAdd(ref=begun, value=fed) for _ in range(3)]):
        total = raw.DestroyTemporaryVariable(ref=begun, var_name="x")
    for value in ([1.0, 2.0], [5.0, 7.0]):  # each step has a variable of its own
        assert session.run(total, {fed: value}).tolist() == [3 * value[0], 3 * value[1]]


def test_names_shapes_and_first_values(session) -> None:
    plain = raw.TemporaryVariable(shape=[2], dtype=hr.float32, name="plain")
    assert session.run(raw.DestroyTemporaryVariable(ref=plain, var_name="plain")).tolist() == [0, 0]
    text = raw.TemporaryVariable(shape=[1], dtype=hr.string, var_name="t")
    assert session.run(raw.DestroyTemporaryVariable(ref=text, var_name="t")).tolist() == [b""]
    longer = _temporary("longer", [1.0, 2.0, 3.0], validate_shape=False)
    assert session.run(raw.DestroyTemporaryVariable(ref=longer, var_name="longer")).size == 3
    unknown = _temporary("unknown", [1.0], shape=hr.TensorShape(None), validate_shape=False)
    assert session.run(raw.DestroyTemporaryVariable(ref=unknown, var_name="unknown")) == [1]


def test_a_variable_that_is_not_destroyed_ends_with_its_step(session) -> None:
    kept = _temporary()
    for _ in range(3):
        assert session.run(kept).tolist() == [1, 2]
    fed = hr.placeholder(hr.float32)
    begun = raw.TemporaryVariable(shape=[3], dtype=hr.float32, var_name="y")
    with pytest.raises(hr.errors.InvalidArgumentError, match="shapes of both tensors to match"):
        session.run(raw.Assign(ref=begun, value=fed), {fed: [1.0, 2.0]})


@pytest.mark.host_execution("refers to a variable, already placed, by an op that only the CPU has")
def test_invalid_uses(session) -> None:
    with pytest.raises(hr.errors.AlreadyExistsError, match="/x/TemporaryVariable"):
        session.run([_temporary(), _temporary()])
    with pytest.raises(hr.errors.NotFoundError, match="/other/TemporaryVariable does not exist"):
        session.run(raw.DestroyTemporaryVariable(ref=_temporary(), var_name="other"))
    (variable,) = _variables(session, 1.0)
    with pytest.raises(hr.errors.NotFoundError, match="does not exist"):
        session.run(raw.DestroyTemporaryVariable(ref=variable._ref(), var_name="x"))
    begun = _temporary()
    first = raw.DestroyTemporaryVariable(ref=begun, var_name="x")
    with hr.control_dependencies([first]):
        second = raw.DestroyTemporaryVariable(ref=begun, var_name="x")
        late = raw.AssignAdd(ref=begun, value=[1.0, 1.0])
    with pytest.raises((hr.errors.NotFoundError, hr.errors.FailedPreconditionError)):
        session.run(second)
    with pytest.raises(hr.errors.FailedPreconditionError, match="uninitialized"):
        session.run(late)


def test_a_loop_makes_one_in_each_iteration(session) -> None:
    def body(i, total):
        with hr.control_dependencies([i]):
            begun = raw.TemporaryVariable(shape=[], dtype=hr.float32, var_name="x")
        filled = raw.Assign(ref=begun, value=hr.cast(i, hr.float32))
        return i + 1, total + raw.DestroyTemporaryVariable(ref=filled, var_name="x")

    _, total = hr.while_loop(lambda i, _: i < 20, body, [hr.constant(0), hr.constant(0.0)])
    for _ in range(2):
        assert session.run(total) == 190


def test_saved_and_loaded() -> None:
    with hr.Graph().as_default() as graph:
        a, b = _variables(None, 1.0, 2.0, initialised=False)
        selected = raw.RefSelect(index=1, inputs=[a._ref(), b._ref()])
        raw.AssignAdd(ref=selected, value=1.0, name="added")
        raw.DestroyTemporaryVariable(ref=_temporary(), var_name="x", name="value")
        hr.global_variables_initializer()
    with hr.Graph().as_default(), hr.Session() as session:
        hr.import_graph_def(graph.as_graph_def(), name="")
        session.run("init")
        assert session.run("added:0") == 3
        assert session.run("value:0").tolist() == [1, 2]
