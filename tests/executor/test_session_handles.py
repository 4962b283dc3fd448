"""Session handles: tensors that stay in the session between runs.

Modules: state/synchronisation/session_tensors, kernels/synchronisation/session_tensor_kernels.
"""

from __future__ import annotations

import gc

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.errors import InvalidArgumentError
from headrace.graph.client.tensor_handles import TensorHandle


def test_a_handle_names_a_tensor_in_later_runs() -> None:
    x = hr.placeholder(hr.float32, [None])
    keep = hr.get_session_handle(x * 2.0)
    with hr.Session() as session:
        kept, doubled = session.run([keep, x * 2.0], {x: [1.0, 2.0]})
        assert isinstance(kept, TensorHandle) and str(kept) == kept.handle
        assert kept.handle.startswith("GetSessionHandle;0;")
        holder, value = hr.get_session_tensor(kept.handle, hr.float32)
        other = session.run(keep, {x: [5.0, 6.0, 7.0]})
        total = hr.reduce_sum(value)
        assert session.run(total, {holder: kept.handle}) == doubled.sum()
        assert session.run(total, {holder: other.handle}) == 36.0
        assert kept.eval().tolist() == [2.0, 4.0]
        holder, wrong = hr.get_session_tensor(kept.handle, hr.int32)
        with pytest.raises(InvalidArgumentError, match="is float, the node declares int32"):
            session.run(wrong, {holder: kept.handle})


def test_a_handle_may_be_fed_in_place_of_the_value() -> None:
    x, y = hr.placeholder(hr.float32, [2]), hr.placeholder(hr.string, [1])
    with hr.Session() as session:
        numbers = session.run(hr.get_session_handle(hr.constant([1.0, 2.0])))
        texts = session.run(hr.get_session_handle(hr.constant(["a"])))
        for _ in range(2):
            assert session.run([x + 1.0, x], {x: numbers})[0].tolist() == [2.0, 3.0]
            assert session.run(hr.identity(y), {y: texts}).tolist() == [b"a"]
        with pytest.raises(ValueError, match="Cannot feed value of shape"):
            session.run(hr.identity(y), {y: session.run(hr.get_session_handle(hr.constant("a")))})


@pytest.mark.parametrize("value", [np.float32(3), np.zeros([0, 2]), np.array([b"a", b""], object)])
def test_values_of_any_kind_are_kept(value: np.ndarray) -> None:
    keep = hr.get_session_handle(hr.constant(value))
    with hr.Session() as session:
        np.testing.assert_array_equal(session.run({"h": [keep]})["h"][0].eval(), value)


def test_a_deleted_tensor_is_gone() -> None:
    keep = hr.get_session_handle(hr.constant(1.0))
    with hr.Session() as session:
        kept = session.run(keep)
        raw = session.run(keep).get_raw_handle()
        holder, value = hr.get_session_tensor(raw, hr.float32)
        kept.delete()
        for use in (kept.eval, kept.delete):
            with pytest.raises(TypeError, match="may have already been deleted"):
                use()
        with pytest.raises(InvalidArgumentError, match="is not in the session store"):
            session.run(value, {holder: kept.handle})
        assert session.run(value, {holder: raw}) == 1.0
        deleted, delete = hr.delete_session_tensor(raw)
        session.run(delete, {deleted: raw})
        with pytest.raises(InvalidArgumentError, match="Failed to delete a tensor with handle"):
            session.run(delete, {deleted: raw})


def test_tensors_whose_handles_are_collected_are_deleted() -> None:
    keep = hr.get_session_handle(hr.constant(1.0))
    with hr.Session() as session:
        handles = [session.run(keep) for _ in range(12)]
        names = [kept.handle for kept in handles]
        holder, value = hr.get_session_tensor(names[0], hr.float32)
        assert session.run(value, {holder: names[0]}) == 1.0
        del handles
        gc.collect()
        assert session.run(keep).eval() == 1.0
        for name in names:
            with pytest.raises(InvalidArgumentError, match="is not in the session store"):
                session.run(value, {holder: name})


def test_a_resource_handle_is_made() -> None:
    handle = hr.raw_ops.GetSessionHandleV2(value=[1.0])
    with hr.Session() as session:
        assert session.run(handle.op) is None


def test_only_tensors_are_kept() -> None:
    with pytest.raises(TypeError, match="must be of type Tensor"):
        hr.get_session_handle(3.0)


def test_thousands_of_handles_may_die_at_once() -> None:
    x = hr.placeholder(hr.float32)
    keep = hr.get_session_handle(x)
    with hr.Session() as session:
        kept = [session.run(keep, {x: 1.0}) for _ in range(1500)]
        names = [kept[0].handle, kept[-1].handle]
        del kept
        gc.collect()
        session.run(x, {x: 2.0})
        session.run(x, {x: 2.0})
        for name in names:
            holder, value = hr.get_session_tensor(name, hr.float32)
            with pytest.raises(InvalidArgumentError):
                session.run(value, {holder: name})


def test_handles_die_in_a_finalized_graph() -> None:
    x = hr.placeholder(hr.float32)
    keep = hr.get_session_handle(x)
    with hr.Session() as session:
        kept = [session.run(keep, {x: 1.0}) for _ in range(30)]
        del kept[:15]
        gc.collect()
        session.run(x, {x: 2.0})
        session.run(x, {x: 2.0})
        names = [one.handle for one in kept]
        session.graph.finalize()
        count = len(session.graph.get_operations())
        del kept
        gc.collect()
        session.run(x, {x: 2.0})
        assert len(session.graph.get_operations()) == count
        session.graph._unsafe_unfinalize()
        holder, value = hr.get_session_tensor(names[0], hr.float32)
        with pytest.raises(InvalidArgumentError):
            session.run(value, {holder: names[0]})


def test_handles_die_in_a_graph_that_never_deleted_one() -> None:
    x = hr.placeholder(hr.float32)
    keep = hr.get_session_handle(x)
    with hr.Session() as session:
        kept = [session.run(keep, {x: 1.0}) for _ in range(30)]
        session.graph.finalize()
        del kept
        gc.collect()
        assert session.run(x, {x: 2.0}) == session.run(x, {x: 2.0}) == 2.0
