from __future__ import annotations

import pytest

import headrace.graph as hr


def test_elements_have_the_types_and_shapes_declared():
    q = hr.FIFOQueue(3, [hr.float32, hr.int32], [[], [2]], name="q")
    assert q.enqueue([1.0, [1, 2]]).name == "q_enqueue"
    assert q.enqueue_many([[1.0, 2.0], [[1, 2], [3, 4]]]).type == "QueueEnqueueManyV2"
    one, two = q.dequeue()
    assert one.shape == [] and two.shape == [2] and two.dtype is hr.int32
    assert [t.shape.as_list() for t in q.dequeue_many(4)] == [[4], [4, 2]]
    assert [t.shape.as_list() for t in q.dequeue_up_to(4)] == [[None], [None, 2]]
    assert q.size().dtype is hr.int32 and q.is_closed().dtype is hr.bool
    assert q.close(cancel_pending_enqueues=True).get_attr("cancel_pending_enqueues") is True


def test_invalid_queue_elements_raise():
    q = hr.FIFOQueue(3, [hr.float32, hr.int32], [[], [2]], name="q")
    with pytest.raises(ValueError, match="has 2 components, got 1"):
        q.enqueue([1.0])
    with pytest.raises(ValueError, match="incompatible"):
        q.enqueue([1.0, [1, 2, 3]])
    with pytest.raises(TypeError):
        q.enqueue(["a", [1, 2]])
    with pytest.raises(ValueError, match="fully defined"):
        hr.FIFOQueue(3, [hr.float32], [[None]])


def test_named_components_are_dicts():
    q = hr.FIFOQueue(3, [hr.float32], names=["x"])
    q.enqueue({"x": 1.0})
    assert list(q.dequeue()) == ["x"]
    with pytest.raises(ValueError, match="must enqueue a dictionary"):
        q.enqueue([1.0])


def test_padding_and_shuffling_queues():
    p = hr.PaddingFIFOQueue(3, [hr.float32], [[None, 2]])
    assert p.dequeue_many(2).shape.as_list() == [2, None, 2]
    hr.set_random_seed(5)
    r = hr.RandomShuffleQueue(3, 1, hr.float32, seed=7)
    assert (r.queue_ref.op.get_attr("seed"), r.queue_ref.op.get_attr("seed2")) == (5, 7)
