"""Graphs of input pipelines: names, summaries, and what is rejected while they are built."""

from __future__ import annotations

import pytest

import headrace.graph as hr


def op_types() -> list[str]:
    return [op.type for op in hr.get_default_graph().get_operations()]


def summary_names() -> list[str]:
    return [t.op.name for t in hr.get_collection(hr.GraphKeys.SUMMARIES)]


def test_a_producer_adds_a_queue_a_runner_and_a_summary():
    queue = hr.train.string_input_producer(["a", "b"], num_epochs=2)
    assert queue.name == "input_producer" and queue.dtypes == [hr.string]
    (runner,) = hr.get_collection(hr.GraphKeys.QUEUE_RUNNERS)
    assert runner.name == queue.name and len(runner.enqueue_ops) == 1
    assert summary_names() == ["input_producer/fraction_of_32_full"]
    assert [v.op.name for v in hr.local_variables()] == ["input_producer/limit_epochs/epochs"]


def test_a_queue_without_a_name_has_that_of_tensorflow():
    assert hr.train.input_producer(hr.zeros([2])).name == "input_producer/FIFOQueueV2"
    assert hr.train.string_input_producer(["a"]).name == "input_producer_1"


def test_joined_sparse_tensors_have_one_rank():
    one = hr.SparseTensor([[0]], [1.0], [2])
    other = hr.SparseTensor([[0, 0]], [1.0], [2, 2])
    with pytest.raises(ValueError, match="Inconsistent SparseTensors list"):
        hr.train.batch_join([[one], [other]], 2)


def test_a_batch_has_known_shapes_and_a_runner_with_an_operation_per_thread():
    out = hr.train.batch([hr.constant(1.0), hr.constant([1, 2])], 8, num_threads=3, capacity=50)
    assert [t.shape.as_list() for t in out] == [[8], [8, 2]]
    assert out[0].op.name == "batch" and summary_names() == ["batch/fraction_of_50_full"]
    (runner,) = hr.get_collection(hr.GraphKeys.QUEUE_RUNNERS)
    assert len(runner.enqueue_ops) == 3 and len(set(runner.enqueue_ops)) == 1
    smaller = hr.train.batch({"x": hr.constant(1.0)}, 8, allow_smaller_final_batch=True)
    assert smaller["x"].shape.as_list() == [None]


def test_a_shuffled_batch_measures_what_is_above_the_minimum():
    hr.train.shuffle_batch_join([[hr.constant(1.0)], [hr.constant(2.0)]], 4, 30, 10)
    assert summary_names() == ["shuffle_batch_join/fraction_over_10_of_20_full"]
    assert "RandomShuffleQueueV2" in op_types()


def test_a_conditional_batch_enqueues_in_a_branch():
    hr.train.maybe_batch([hr.constant(1.0)], hr.placeholder(hr.bool, []), 4)
    assert "Switch" in op_types()
    hr.train.maybe_batch([hr.constant([1.0])], hr.placeholder(hr.bool, [1]), 4, enqueue_many=True)
    assert "DynamicPartition" in op_types()


def test_invalid_pipelines_raise():
    x = hr.constant(1.0)
    unknown = hr.placeholder(hr.float32)
    for build, words in (
        (lambda: hr.train.limit_epochs(x, 0), "num_epochs must be > 0 not 0"),
        (lambda: hr.train.input_producer(unknown), "must have a fully defined shape"),
        (lambda: hr.train.slice_input_producer([]), "Expected at least one tensor in slice"),
        (lambda: hr.train.batch([], 2), "Expected at least one tensor in batch"),
        (lambda: hr.train.batch([unknown], 2), "Cannot infer Tensor's rank"),
        (lambda: hr.train.batch_join([], 2), "Expected at least one set of tensors"),
        (lambda: hr.train.batch_join([{"a": x}, {"b": x}], 2), "must have the same keys"),
        (lambda: hr.train.shuffle_batch([x], 2, 10, 10), "10 must be bigger than min_after"),
        (lambda: hr.train.maybe_batch([x], [True], 2), "cannot be a vector when"),
        (lambda: hr.train.maybe_batch([x], [[True]], 2, enqueue_many=True), "0 or 1 dimensions"),
        (lambda: hr.train.maybe_batch([x], hr.placeholder(hr.bool), 2), "must be known at graph"),
        (lambda: hr.contrib.training.bucket([x], 0, [1], 2), "num_buckets elements"),
        (lambda: hr.contrib.training.bucket([], 0, 1, 2), "Expected at least one tensor in bucket"),
        (lambda: hr.contrib.training.bucket([x], 0, 1, 2, bucket_capacities=[1]), "exactly num_b"),
        (lambda: hr.contrib.training.bucket_by_sequence_length(1, [x], 1, []), "not be empty"),
        (lambda: hr.contrib.training.bucket_by_sequence_length(1, [x], 1, [3, 3]), "increasing"),
    ):
        with pytest.raises(ValueError, match=words):
            build()
    for build, words in (
        (lambda: hr.train.batch_join([[x], [hr.constant(1)]], 2), "Expected types to be consist"),
        (lambda: hr.contrib.training.bucket_by_sequence_length(1, [x], 1, 4), "list or tuple"),
        (lambda: hr.contrib.training.bucket_by_sequence_length(1, [x], 1, [1.5, 2]), "integers"),
    ):
        with pytest.raises(TypeError, match=words):
            build()


def test_a_queue_runner_keeps_its_operations_in_a_message():
    queue = hr.FIFOQueue(3, hr.int32, [[]], name="q")
    runner = hr.train.QueueRunner(
        queue, [queue.enqueue(1)], queue_closed_exception_types=(hr.errors.CancelledError,)
    )
    message = runner.to_proto()
    assert (message.queue_name, list(message.enqueue_op_name)) == ("q", ["q_enqueue"])
    assert (message.close_op_name, message.cancel_op_name) == ("q_Close", "q_Close_1")
    again = hr.train.QueueRunner.from_proto(message)
    assert again.queue is queue.queue_ref.op and again.enqueue_ops == runner.enqueue_ops
    assert again.close_op is runner.close_op and again.cancel_op is runner.cancel_op
    assert again.queue_closed_exception_types == (hr.errors.CancelledError,)
    assert runner.to_proto("elsewhere") is None and runner.exceptions_raised == []


def test_runners_of_another_collection_are_added_by_name():
    queue = hr.FIFOQueue(3, hr.int32, [[]])
    runner = hr.train.QueueRunner(queue, [queue.enqueue(1)])
    hr.train.add_queue_runner(runner, collection="others")
    assert hr.get_collection("others") == [runner]
    assert hr.train.queue_runner.QueueRunner is hr.train.QueueRunner


def test_invalid_queue_runners_raise():
    queue = hr.FIFOQueue(3, hr.int32, [[]])
    message = hr.train.QueueRunner(queue, [queue.enqueue(1)]).to_proto()
    with pytest.raises(ValueError, match="Must provide queue and enqueue_ops"):
        hr.train.QueueRunner(queue)
    with pytest.raises(ValueError, match="mutually exclusive"):
        hr.train.QueueRunner(queue, queue_runner_def=message)
    for types in ([hr.errors.CancelledError], (), (ValueError,)):
        with pytest.raises(TypeError, match="must be a tuple of hr.errors types"):
            hr.train.QueueRunner(queue, [queue.enqueue(1)], queue_closed_exception_types=types)
    with pytest.raises(ValueError, match="No default session is registered"):
        hr.train.start_queue_runners()
    with pytest.raises(TypeError, match="must be a `hr.Session` object"):
        hr.train.start_queue_runners(3)


def test_sync_replicas_need_gradients_and_a_global_step():
    optimizer = hr.train.SyncReplicasOptimizer(hr.train.GradientDescentOptimizer(1.0), 2, 3)
    v = hr.get_variable("v", initializer=1.0)
    with pytest.raises(ValueError, match="Must supply at least one variable"):
        optimizer.apply_gradients([])
    with pytest.raises(ValueError, match="Global step is required"):
        optimizer.apply_gradients([(hr.constant(1.0), v)])
    with pytest.raises(ValueError, match="should be called before using the hook"):
        optimizer.make_session_run_hook(True).begin()
    step = hr.train.get_or_create_global_step()
    optimizer.apply_gradients([(hr.constant(1.0), v)], step)
    assert "ResourceConditionalAccumulator" in op_types()
