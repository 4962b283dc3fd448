"""Input pipelines of queues and queue runners, from file names to batches and buckets."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.errors import InvalidArgumentError, OutOfRangeError


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with hr.Graph().as_default():
        yield


@contextmanager
def running() -> Iterator[tuple[hr.Session, hr.train.Coordinator]]:
    """A session whose local variables are initialised and whose queue runners run."""
    with hr.Session() as session:
        session.run([hr.global_variables_initializer(), hr.local_variables_initializer()])
        coord = hr.train.Coordinator()
        threads = hr.train.start_queue_runners(session, coord)
        yield session, coord
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=120)


def until_end(session: hr.Session, fetch: Any) -> list[Any]:
    """Values of runs until the input ends."""
    values = []
    while True:
        try:
            values.append(session.run(fetch))
        except OutOfRangeError:
            return values


def until_all_are_seen(
    session: hr.Session, fetch: Any, bucket: Callable[[Any], int], buckets: set[int]
) -> list[Any]:
    """Values of runs until one came from each bucket.

    A bucket whose thread starts late does not hold up the others before its queue of 32 elements
    is full: fewer than 100 batches.
    """
    values: list[Any] = []
    while {bucket(value) for value in values} != buckets:
        assert len(values) < 200
        values.append(session.run(fetch))
    return values


def test_names_are_read_in_order_or_shuffled_in_each_epoch() -> None:
    names = [f"f{i}" for i in range(5)]
    ordered = hr.train.string_input_producer(names, num_epochs=2, shuffle=False)
    shuffled = hr.train.string_input_producer(names, num_epochs=3, seed=4)
    one, other = ordered.dequeue(), shuffled.dequeue()
    with running() as (session, _):
        assert [v.decode() for v in until_end(session, one)] == names * 2
        found = [v.decode() for v in until_end(session, other)]
    epochs = [found[i : i + 5] for i in range(0, 15, 5)]
    assert all(sorted(epoch) == names for epoch in epochs) and len(found) == 15
    assert any(epoch != names for epoch in epochs)


def test_numbers_rows_and_slices_are_produced() -> None:
    numbers = hr.train.range_input_producer(4, num_epochs=1, shuffle=False).dequeue()
    rows = hr.train.input_producer([[1, 2], [3, 4]], num_epochs=1, shuffle=False).dequeue()
    slices = hr.train.slice_input_producer([[1, 2, 3], ["a", "b", "c"]], num_epochs=2)
    with running() as (session, _):
        assert until_end(session, numbers) == [0, 1, 2, 3]
        assert [v.tolist() for v in until_end(session, rows)] == [[1, 2], [3, 4]]
        assert sorted(map(tuple, until_end(session, slices))) == [
            (n, t) for n, t in ((1, b"a"), (2, b"b"), (3, b"c")) for _ in range(2)
        ]


def test_an_empty_list_of_names_is_rejected() -> None:
    with pytest.raises(ValueError, match="requires a non-null input tensor"):
        hr.train.string_input_producer([])
    hr.train.string_input_producer(hr.constant([], hr.string))
    with (
        pytest.raises(InvalidArgumentError, match="requires a non-null input tensor"),
        running() as (_, coord),
    ):
        coord.wait_for_stop(120)


def numbers(count: int, epochs: int | None = 1) -> hr.Tensor:
    return hr.train.range_input_producer(count, num_epochs=epochs, shuffle=False).dequeue()


@pytest.mark.parametrize("smaller", [False, True])
def test_batches_are_returned_until_the_input_ends(smaller: bool) -> None:
    n = numbers(10)
    out = hr.train.batch({"n": n, "pair": hr.stack([n, -n])}, 4, allow_smaller_final_batch=smaller)
    with running() as (session, _):
        batches = until_end(session, out)
    expected = [[0, 1, 2, 3], [4, 5, 6, 7], *([[8, 9]] if smaller else [])]
    assert [b["n"].tolist() for b in batches] == expected
    assert batches[0]["pair"].tolist() == [[i, -i] for i in range(4)]


def test_several_threads_lose_and_repeat_nothing() -> None:
    out = hr.train.batch([numbers(60)], 7, num_threads=4, allow_smaller_final_batch=True)
    with running() as (session, _):
        found = np.concatenate(until_end(session, out))
    assert sorted(found.tolist()) == list(range(60))


def test_examples_of_different_lengths_are_padded() -> None:
    n = numbers(4)
    row = hr.fill([n + 1], n)
    out = hr.train.batch([row, hr.as_string(row)], 2, dynamic_pad=True)
    assert [t.shape.as_list() for t in out] == [[2, None], [2, None]]
    with running() as (session, _):
        values, texts = until_end(session, out)[1]
    assert values.tolist() == [[2, 2, 2, 0], [3, 3, 3, 3]]
    assert texts.tolist()[0] == [b"2", b"2", b"2", b""]


def test_batches_are_split_and_joined_again() -> None:
    pairs = hr.train.batch([numbers(12)], 4)
    out = hr.train.batch([pairs], 3, enqueue_many=True)
    with running() as (session, _):
        assert np.concatenate(until_end(session, out)).tolist() == list(range(12))


def test_sparse_examples_are_batched() -> None:
    n = numbers(4)
    sparse = hr.SparseTensor([[hr.cast(n, hr.int64)]], [n * 10], [4])
    one = hr.train.batch({"s": sparse, "n": n}, 2)
    with running() as (session, _):
        batch = until_end(session, one)[0]
    assert batch["s"].indices.tolist() == [[0, 0], [1, 1]]
    assert batch["s"].values.tolist() == [0, 10] and batch["s"].dense_shape.tolist() == [2, 4]


def test_sparse_batches_are_split_and_joined_again() -> None:
    n = numbers(2)
    sparse = hr.SparseTensor([[0, 0], [1, 1]], hr.stack([n, n + 10]), [2, 3])
    out = hr.train.batch([sparse], 4, enqueue_many=True)
    with running() as (session, _):
        (batch,) = until_end(session, out)
    assert batch.values.tolist() == [0, 10, 1, 11] and batch.dense_shape.tolist() == [4, 3]


@pytest.mark.parametrize("many", [False, True])
def test_only_the_examples_to_keep_are_batched(many: bool) -> None:
    n = numbers(20)
    if many:
        values = hr.stack([n, n + 100, n + 200])
        keep = hr.equal(values % 2, 0)
        out = hr.train.maybe_batch([values], keep, 5, enqueue_many=True)
    else:
        out = hr.train.maybe_batch([n], hr.equal(n % 2, 0), 5)
    with running() as (session, _):
        found = np.concatenate(until_end(session, out))
    assert len(found) >= 10 and not (found % 2).any()


def test_examples_of_several_readers_are_joined() -> None:
    examples = [[numbers(6)], [numbers(6) + 100]]
    out = hr.train.batch_join(examples, 4)
    kept = hr.train.maybe_batch_join([[numbers(6)], [numbers(6)]], True, 4)
    with running() as (session, _):
        assert sorted(np.concatenate(until_end(session, out)).tolist()) == [
            *range(6), *range(100, 106),
        ]  # fmt: skip
        assert len(np.concatenate(until_end(session, kept))) == 12


def test_shuffled_batches_hold_every_example_once() -> None:
    out = hr.train.shuffle_batch([numbers(40)], 5, 20, 10, seed=3)
    joined = hr.train.shuffle_batch_join([[numbers(20)], [numbers(20)]], 5, 20, 10, seed=3)
    n = numbers(40)
    some = hr.train.maybe_shuffle_batch([n], 5, 20, 10, hr.less(n, 20))
    all_kept = hr.train.maybe_shuffle_batch_join([[numbers(40)]], 5, 20, 10, True)
    with running() as (session, _):
        found = np.concatenate(until_end(session, out)).tolist()
        assert sorted(found) == list(range(40)) and found != list(range(40))
        assert len(np.concatenate(until_end(session, joined))) == 40
        kept = np.concatenate(until_end(session, some))
        assert len(set(kept.tolist())) == len(kept) > 0
        assert sorted(np.concatenate(until_end(session, all_kept))) == list(range(40))


def test_examples_are_grouped_by_length() -> None:
    n = numbers(12, epochs=None)
    length = n + 1
    row = hr.fill([length], n)
    out = hr.contrib.training.bucket_by_sequence_length(
        length, [n, row], 4, [4, 8], dynamic_pad=True
    )
    with running() as (session, _):
        batches = until_all_are_seen(
            session, out, lambda batch: int(np.digitize(batch[0][0], [4, 8])), {0, 1, 2}
        )
    for lengths, (ids, rows) in batches:
        assert len(set(np.digitize(lengths, [4, 8]).tolist())) == 1
        assert rows.shape == (4, lengths.max())
        np.testing.assert_array_equal(lengths, ids + 1)
        for one, size in zip(rows, lengths):
            assert one.tolist() == [size - 1] * size + [0] * (len(one) - size)


def test_buckets_may_have_their_own_batch_sizes() -> None:
    n = numbers(12, epochs=None)
    bucket, out = hr.contrib.training.bucket(
        {"n": n}, n % 2, [2, 3], 2, keep_input=hr.less(n, 6), allow_smaller_final_batch=True
    )
    with running() as (session, _):
        batches = until_all_are_seen(session, [bucket, out], lambda b: int(b[0]), {0, 1})
    assert {(int(b), len(o["n"])) for b, o in batches} == {(0, 2), (1, 3)}
    for b, o in batches:
        assert (o["n"] % 2 == b).all() and (o["n"] < 6).all()


@pytest.mark.parametrize("smaller", [False, True])
def test_buckets_give_all_their_batches_when_the_input_ends(smaller: bool) -> None:
    n = numbers(11)
    length = n % 5 + 1
    out = hr.contrib.training.bucket_by_sequence_length(
        length, [n], 2, [2, 4], allow_smaller_final_batch=smaller
    )
    with running() as (session, _):
        batches = sorted(ids.tolist() for _, (ids,) in until_end(session, out))
    # As from TensorFlow 1.15; 10 is alone in its bucket.
    assert batches == [[0, 5], [1, 2], [3, 4], [6, 7], [8, 9], [10]][: 5 + smaller]


def test_an_error_of_a_reader_stops_the_program() -> None:
    n = numbers(100)
    out = hr.train.batch([hr.check_numerics(1.0 / hr.cast(n - 5, hr.float32), "five")], 2)
    with pytest.raises(InvalidArgumentError, match="five"), running() as (session, coord):
        while not coord.should_stop():
            try:
                session.run(out)
            except OutOfRangeError:
                break
        coord.join()


def test_a_monitored_session_starts_queue_runners() -> None:
    out = hr.train.batch([numbers(6)], 3)
    found = []
    with hr.train.MonitoredSession() as session:
        assert hr.train.start_queue_runners(session) == []
        while not session.should_stop():
            found.append(session.run(out).tolist())
    assert found == [[0, 1, 2], [3, 4, 5]]


def test_queue_runners_are_saved_with_the_graph() -> None:
    out = hr.train.batch([numbers(4)], 2, name="examples")
    message = hr.train.export_meta_graph()
    name = out.name
    with hr.Graph().as_default():
        hr.train.import_meta_graph(message, import_scope="again")
        with running() as (session, _):
            assert len(until_end(session, f"again/{name}")) == 2


def test_replicas_train_with_the_mean_of_their_gradients() -> None:
    step = hr.train.get_or_create_global_step()
    w = hr.get_variable("w", initializer=[0.0, 0.0])
    rows = hr.get_variable("rows", initializer=np.zeros([3, 2], np.float32))
    target = hr.placeholder(hr.float32, [2])
    loss = hr.reduce_sum(w * target) + hr.reduce_sum(hr.gather(rows, [1]) * target)
    optimizer = hr.train.SyncReplicasOptimizer(hr.train.GradientDescentOptimizer(1.0), 2)
    for early in (optimizer.get_chief_queue_runner, optimizer.get_init_tokens_op):
        with pytest.raises(ValueError, match="after apply_gradients"):
            early()
    train = optimizer.minimize(loss, global_step=step)
    # The runner closes its queue at the end; workers still read the queue of tokens.
    assert optimizer.get_chief_queue_runner().queue.name == "dummy_queue"
    hook = optimizer.make_session_run_hook(is_chief=True)
    hook.begin()
    coord = hr.train.Coordinator()
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        hook.after_create_session(session, coord)
        # The first gradient of the second step is stale: it was computed before its token.
        for number, targets in enumerate(([1.0, 3.0], [9.0, 1.0, 3.0])):
            for first in targets:
                session.run(train, {target: [first, first + 1.0]})
            end = time.monotonic() + 120
            while session.run(step) < number + 1:  # the chief's thread applies the mean
                assert time.monotonic() < end
        weights, table = session.run([w, rows])
    # The chief's thread waited for gradients, or was about to: the end of the session is its end.
    coord.join()
    coord._join_after_close(60.0)
    assert not [t.name for t in threading.enumerate() if "dummy_queue" in t.name]
    assert weights.tolist() == [-4.0, -6.0]
    assert table.tolist() == [[0.0, 0.0], [-4.0, -6.0], [0.0, 0.0]]
