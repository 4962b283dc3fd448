"""A variable has the shape and dtype of its value, whatever was declared or planned.

Modules: state/slot_shapes, kernels/variable_kernels, plan/specialisation, plan/prepare_segment,
plan/segment_builder.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest
from child_process import output

import headrace.graph as hr
from headrace.formats.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    OpError,
)


def _handle(shape: list[int] | None, dtype: hr.DType = hr.float32, name: str = "v") -> hr.Tensor:
    return hr.raw_ops.VarHandleOp(dtype=dtype, shape=shape, shared_name=name)


def _read(handle: hr.Tensor, dtype: hr.DType = hr.float32) -> hr.Tensor:
    return hr.raw_ops.ReadVariableOp(resource=handle, dtype=dtype)


def test_a_reference_variable_read_after_an_assignment_of_another_shape_has_that_shape() -> None:
    v = hr.raw_ops.VariableV2(shape=[2], dtype=hr.float32)
    value = hr.placeholder(hr.float32)
    grow = hr.raw_ops.Assign(ref=v, value=value, validate_shape=False)
    doubled = v * 2.0
    with hr.Session() as session:
        for n in (2, 50_000, 3, 0, 2):
            expected = np.arange(n, dtype=np.float32)
            session.run(grow.op, {value: expected})
            np.testing.assert_array_equal(session.run(doubled), expected * 2)
            np.testing.assert_array_equal(session.run(v), expected)


@pytest.mark.parametrize("declared", [[2], None])
def test_assigning_another_shape_and_reading_it_in_one_step_gives_the_new_shape(
    declared: list[int] | None,
) -> None:
    handle = _handle(declared)
    value = hr.placeholder(hr.float32)
    assign = hr.raw_ops.AssignVariableOp(resource=handle, value=value)
    with hr.control_dependencies([assign]):
        read = _read(handle)
    total = hr.reduce_sum(read * 2.0)
    with hr.Session() as session:
        for n in (2, 7, 50_000, 1):
            fed = np.ones(n, np.float32)
            got, sum_ = session.run([read, total], {value: fed})
            np.testing.assert_array_equal(got, fed)
            assert sum_ == 2.0 * n


def test_a_reference_assigned_without_validation_and_read_in_one_step_has_the_new_shape() -> None:
    v = hr.raw_ops.VariableV2(shape=[2], dtype=hr.float32)
    value = hr.placeholder(hr.float32)
    assign = hr.raw_ops.Assign(ref=v, value=value, validate_shape=False)
    with hr.control_dependencies([assign.op]):
        read = hr.identity(v) + 1.0
    with hr.Session() as session:
        for n in (2, 9, 40_000):
            fed = np.ones(n, np.float32)
            np.testing.assert_array_equal(session.run(read, {value: fed}), fed + 1)


def test_assign_rejects_a_shape_that_the_variable_does_not_have_now() -> None:
    v = hr.raw_ops.VariableV2(shape=[2], dtype=hr.float32)
    grow = hr.raw_ops.Assign(ref=v, value=np.ones(5, np.float32), validate_shape=False)
    back = hr.raw_ops.Assign(ref=v, value=np.ones(2, np.float32))
    with hr.Session() as session:
        session.run(back.op)
        session.run(grow.op)
        with pytest.raises(
            InvalidArgumentError, match="Assign requires shapes of both tensors to match"
        ):
            session.run(back.op)
        assert session.run(v).shape == (5,)


def test_a_reader_sees_complete_values_while_another_thread_writes_other_shapes() -> None:
    printed = output(
        """
        handle = hr.raw_ops.VarHandleOp(dtype=hr.float32, shape=None, shared_name="v")
        value = hr.placeholder(hr.float32)
        assign = hr.raw_ops.AssignVariableOp(resource=handle, value=value)
        read = hr.raw_ops.ReadVariableOp(resource=handle, dtype=hr.float32)
        product = read * 2.0 + hr.random_uniform([])*0.0
        session = hr.Session()
        session.run(assign, {value: np.ones(1, np.float32)})
        begun, over, reads = time.monotonic(), False, 0
        def write():
            n = 0
            while not over:
                n += 1
                size = (1, 30_000, 7, 513)[n % 4]
                session.run(assign, {value: np.full(size, size, np.float32)})
        writer = threading.Thread(target=write)
        writer.start()
        wrong = []
        while reads < 100 or time.monotonic() - begun < 3:
            got = session.run(product)
            if not (got == 2 * got.size).all():
                wrong.append(got)
            reads += 1
        over = True
        writer.join()
        print(wrong or "whole")
        """
    )
    assert printed == "whole\n"


def test_two_references_of_one_name_and_different_shapes_read_the_current_value() -> None:
    small, large = (
        hr.raw_ops.VariableV2(shape=shape, dtype=hr.float32, shared_name="s")
        for shape in ([2], [50_000])
    )
    with hr.Session() as session:
        session.run(hr.raw_ops.Assign(ref=small, value=[1.0, 2.0]).op)
        assert session.run(large).tolist() == [1.0, 2.0]
        with pytest.raises(InvalidArgumentError, match="shapes of both tensors to match"):
            session.run(hr.raw_ops.Assign(ref=large, value=np.ones(50_000, np.float32)).op)


def test_a_resource_variable_of_another_shape_than_its_handle_declares_is_read_as_it_is() -> None:
    narrow, wide = _handle([2]), _handle([50_000])
    fed = hr.placeholder(hr.float32)
    assign = hr.raw_ops.AssignVariableOp(resource=narrow, value=fed)
    reads = [_read(narrow), _read(wide)]
    with hr.Session() as session:
        session.run(assign, {fed: [1.0, 2.0, 3.0]})
        assert [r.tolist() for r in session.run(reads)] == [[1.0, 2.0, 3.0]] * 2


@pytest.mark.parametrize("dtype", [hr.float64, hr.int32, hr.complex128, hr.string])
def test_a_resource_variable_read_as_another_dtype_is_rejected(dtype: hr.DType) -> None:
    handle = _handle([3])
    assign = hr.raw_ops.AssignVariableOp(resource=handle, value=np.ones(3, np.float32))
    with hr.Session() as session:
        session.run(assign)
        with pytest.raises(InvalidArgumentError, match="Trying to read variable with wrong dtype"):
            session.run(_read(handle, dtype))


@pytest.mark.parametrize("op", ["AssignAddVariableOp", "AssignSubVariableOp", "AssignVariableOp"])
@pytest.mark.host_execution(
    "the fake device reports the errors of AssignAdd late, in words of its own"
)
def test_a_change_of_another_dtype_is_rejected_and_changes_nothing(op: str) -> None:
    handle = _handle([3])
    start = hr.raw_ops.AssignVariableOp(resource=handle, value=np.ones(3, np.float32))
    change = getattr(hr.raw_ops, op)(resource=handle, value=np.ones(3, np.float64))
    with hr.Session() as session:
        session.run(start)
        with pytest.raises(InvalidArgumentError, match="dtype"):
            session.run(change)
        assert session.run(_read(handle)).tolist() == [1.0, 1.0, 1.0]


def test_a_resource_variable_is_initialised_and_read_in_one_run() -> None:
    for shape in ([2], None):
        handle = _handle(shape, name=f"v{shape}")
        assign = hr.raw_ops.AssignVariableOp(resource=handle, value=[1.0, 2.0])
        with hr.control_dependencies([assign]):
            read = _read(handle) + 1.0
        with hr.Session() as session:
            assert session.run(read).tolist() == [2.0, 3.0]
            assert session.run([read, assign])[0].tolist() == [2.0, 3.0]


def test_a_variable_is_read_after_the_python_function_that_initialises_it() -> None:
    handle = _handle(None)
    assign = hr.raw_ops.AssignVariableOp(resource=handle, value=[1.0, 2.0])
    with hr.Session("local://by_function") as session:

        def initialise() -> np.float32:
            session.run(assign)
            return np.float32(0)

        done = hr.py_func(initialise, [], hr.float32)
        with hr.control_dependencies([done]):
            read = _read(handle) + 1.0
        assert session.run(read).tolist() == [2.0, 3.0]


def test_a_variable_is_read_with_the_shape_that_a_python_function_gave_it() -> None:
    handle, value = _handle(None), hr.placeholder(hr.float32)
    assign = hr.raw_ops.AssignVariableOp(resource=handle, value=value)
    with hr.Session("local://shape_by_function") as session:
        sizes = iter([2, 5, 3])

        def change() -> np.float32:
            session.run(assign, {value: np.ones(next(sizes), np.float32)})
            return np.float32(0)

        done = hr.py_func(change, [], hr.float32)
        with hr.control_dependencies([done]):
            behind = hr.no_op()
        with hr.control_dependencies([behind]):
            read = hr.reduce_sum(_read(handle) + 1.0)
        assert [float(session.run(read)) for _ in range(3)] == [4.0, 10.0, 6.0]


def test_nodes_before_a_read_of_an_uninitialised_variable_run() -> None:
    handle, counter = _handle(None), _handle([], name="counter")
    start = hr.raw_ops.AssignVariableOp(resource=counter, value=0.0)
    count = hr.raw_ops.AssignAddVariableOp(resource=counter, value=1.0)
    with hr.control_dependencies([count]):
        read = hr.matmul(_read(handle), hr.ones([3, 3]))
    with hr.Session() as session:
        session.run(start)
        with pytest.raises(FailedPreconditionError, match="uninitialized"):
            session.run(read)
        assert session.run(_read(counter)) == 1.0


def test_a_variable_destroyed_or_reset_between_runs_is_uninitialised() -> None:
    handle = _handle([2])
    assign = hr.raw_ops.AssignVariableOp(resource=handle, value=[1.0, 2.0])
    read = _read(handle) * 1.0
    with hr.Session() as session:
        session.run(assign)
        assert session.run(read).tolist() == [1.0, 2.0]
        session.run(hr.raw_ops.DestroyResourceOp(resource=handle))
        with pytest.raises((FailedPreconditionError, OpError), match="uninitialized"):
            session.run(read)
        session.run(assign)
        assert session.run(read).tolist() == [1.0, 2.0]


def test_a_variable_grows_inside_a_while_loop() -> None:
    handle = _handle(None)
    start = hr.raw_ops.AssignVariableOp(resource=handle, value=np.ones(1, np.float32))

    def body(i: hr.Tensor) -> hr.Tensor:
        longer = hr.concat([_read(handle), [2.0]], 0)
        with hr.control_dependencies([hr.raw_ops.AssignVariableOp(resource=handle, value=longer)]):
            return i + 1

    end = hr.while_loop(lambda i: i < 5, body, [0])
    with hr.Session() as session:
        session.run(start)
        assert session.run(end) == 5
        assert session.run(_read(handle)).tolist() == [1.0, 2.0, 2.0, 2.0, 2.0, 2.0]


@pytest.mark.host_execution(
    "the fake device reports the errors of AssignAdd late, in words of its own"
)
def test_threads_that_assign_other_shapes_and_update_never_tear_a_value() -> None:
    v = hr.raw_ops.VariableV2(shape=None, dtype=hr.float32)
    fed = hr.placeholder(hr.float32)
    assign = hr.raw_ops.Assign(ref=v, value=fed, validate_shape=False).op
    add = hr.raw_ops.AssignAdd(ref=v, value=fed).op
    errors: list[BaseException] = []
    with hr.Session() as session:
        session.run(assign, {fed: np.ones(3, np.float32)})

        def work(size: int) -> None:
            try:
                for _ in range(200):
                    session.run(assign, {fed: np.ones(size, np.float32)})
                    try:
                        session.run(add, {fed: np.ones(size, np.float32)})
                    except InvalidArgumentError:
                        pass  # the other thread's shape is there
                    got = session.run(v)
                    assert got.shape in ((3,), (4000,)) and len(set(got.tolist())) == 1, got
            except BaseException as error:  # noqa: BLE001 (shown by the test)
                errors.append(error)

        threads = [threading.Thread(target=work, args=(size,)) for size in (3, 4000)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not errors


def test_a_reference_variable_without_elements_needs_no_assignment() -> None:
    for op in (hr.raw_ops.VariableV2, hr.raw_ops.Variable):
        v = op(shape=[4, 0, 5], dtype=hr.float32)
        known = hr.raw_ops.IsVariableInitialized(ref=v)
        other = hr.raw_ops.Assign(ref=v, value=hr.ones([2]), validate_shape=False)
        with hr.Session() as session:
            assert session.run(known)
            assert session.run(v).shape == (4, 0, 5)
            assert session.run(v * 2.0).shape == (4, 0, 5)
            session.run(other)
            np.testing.assert_array_equal(session.run(v * 2.0), [2.0, 2.0])
    with hr.Session() as session, pytest.raises(FailedPreconditionError):
        session.run(_read(_handle([0])))


def test_a_reference_variable_of_unknown_shape_begins_as_a_scalar() -> None:
    v = hr.raw_ops.VariableV2(shape=None, dtype=hr.float32)
    assign = {
        validate: hr.raw_ops.Assign(ref=v, value=hr.ones([2]), validate_shape=validate)
        for validate in (True, False)
    }
    scalar = hr.raw_ops.Assign(ref=v, value=hr.constant(3.0))
    with hr.Session() as session:
        with pytest.raises(InvalidArgumentError, match=r"lhs shape= \[\] rhs shape= \[2\]"):
            session.run(assign[True].op)
        assert session.run(scalar) == 3.0
        session.run(assign[False].op)
        session.run(assign[True].op)  # now it has that shape
        np.testing.assert_array_equal(session.run(v), [1.0, 1.0])
