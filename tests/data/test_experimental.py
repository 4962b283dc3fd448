"""Transformations, statistics and files (data.writers) of hr.data.experimental in a run."""

from __future__ import annotations

import gzip
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pipelines import drained

import headrace.graph as hr

D = hr.data.Dataset
E = hr.data.experimental


@pytest.fixture(autouse=True)
def default_graph() -> Any:
    with hr.Graph().as_default():
        yield


def values(dataset: Any) -> list[Any]:
    iterator = dataset.make_initializable_iterator()
    with hr.Session() as session:
        session.run(iterator.initializer)
        return drained(session, [iterator.get_next()])


STAGES = {
    "scan": lambda: D.range(9).apply(E.scan(np.int64(0), lambda s, x: (s + x, s * x))),
    "take while": lambda: D.range(9).apply(E.take_while(lambda x: x < 7)),
    "unique": lambda: D.range(12).map(lambda x: x % 7).apply(E.unique()),
    "ignore errors": lambda: D.range(9).map(lambda x: 12 // x).apply(E.ignore_errors()),
    "choose": lambda: E.choose_from_datasets(
        [D.range(2), D.range(10, 19)], D.range(12).map(lambda x: x % 2)
    ),
    "sample": lambda: E.sample_from_datasets([D.range(4), D.range(10, 14)], seed=2),
    "random": lambda: E.RandomDataset(3).take(8),
    "latency": lambda: D.range(8).apply(E.latency_stats("tag")),
    "bytes": lambda: D.range(8).apply(E.bytes_produced_stats("tag")),
}


@pytest.mark.parametrize("name", STAGES)
def test_a_saved_iterator_goes_on_where_it_was(name: str, tmp_path: Path) -> None:
    iterator = STAGES[name]().make_initializable_iterator()
    following = iterator.get_next()
    saver = hr.train.Saver([E.make_saveable_from_iterator(iterator)])
    with hr.Session() as session:
        session.run(iterator.initializer)
        for _ in range(5):
            session.run(following)
        path = saver.save(session, str(tmp_path / "position"))
        expected = drained(session, [following])
        assert expected
    with hr.Session() as session:
        session.run(iterator.initializer)
        session.run(following)
        saver.restore(session, path)
        assert drained(session, [following]) == expected


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: D.range(7), 7),
        (lambda: D.range(7, 1, -2), 3),
        (lambda: D.range(3).repeat(), -1),
        (lambda: D.range(0).repeat(), 0),
        (lambda: D.range(3).repeat(4), 12),
        (lambda: D.range(3).repeat().take(5), 5),
        (lambda: D.range(3).take(5), 3),
        (lambda: D.range(3).take(-1), 3),
        (lambda: D.range(7).skip(2), 5),
        (lambda: D.range(7).skip(-1), 0),
        (lambda: D.range(7).shard(3, 0), 3),
        (lambda: D.range(7).shard(3, 1), 2),
        (lambda: D.range(7).concatenate(D.range(2)), 9),
        (lambda: D.range(7).concatenate(D.range(2).repeat()), -1),
        (lambda: D.range(7).concatenate(D.range(2).filter(lambda x: x > 0)), -2),
        (lambda: D.zip((D.range(7), D.range(3).repeat())), 7),
        (lambda: D.zip((D.range(7), D.range(3).filter(lambda x: x > 0))), -2),
        (lambda: D.range(7).batch(3), 3),
        (lambda: D.range(7).batch(3, drop_remainder=True), 2),
        (lambda: D.range(7).padded_batch(3, []), 3),
        (lambda: D.range(7).window(3, 2), 4),
        (lambda: D.range(7).map(lambda x: x + 1), 7),
        (lambda: D.range(7).apply(E.map_and_batch(lambda x: x, 2)), 4),
        (lambda: D.range(7).apply(E.scan(0, lambda s, x: (s, x))), 7),
        (lambda: D.range(7).shuffle(3), 7),
        (lambda: D.range(7).apply(E.shuffle_and_repeat(3, 2)), 14),
        (lambda: D.range(7).cache().prefetch(2), 7),
        (lambda: D.from_tensors((1, 2)), 1),
        (lambda: D.from_tensor_slices([1, 2]), 2),
        (lambda: D.from_sparse_tensor_slices(hr.SparseTensor([[0, 1]], [1], [4, 2])), 4),
        (lambda: D.range(7).flat_map(lambda x: D.range(x)), -2),
        (lambda: D.range(7).apply(E.unique()), -2),
        (lambda: hr.data.TextLineDataset("none"), -2),
        (lambda: E.RandomDataset(3), -1),
        (lambda: D.range(7).apply(E.latency_stats("tag")), 7),
    ],
)
def test_cardinality(make: Any, expected: int) -> None:
    with hr.Session() as session:
        assert session.run(E.cardinality(make())) == expected
    assert (E.INFINITE_CARDINALITY, E.UNKNOWN_CARDINALITY) == (-1, -2)


def test_a_choice_that_does_not_exist_fails() -> None:
    choices = D.from_tensor_slices(np.array([0, 2], np.int64))
    chosen = E.choose_from_datasets([D.range(3), D.range(3)], choices)
    with pytest.raises(hr.errors.InvalidArgumentError, match="Selector index out of range: 2 >= 2"):
        values(chosen)


@pytest.mark.parametrize("compression", ["", "ZLIB", "GZIP"])
def test_a_written_dataset_can_be_read(tmp_path: Path, compression: str) -> None:
    path = str(tmp_path / "words.tfrecord")
    words = D.range(300).map(lambda x: hr.strings.join(["word ", hr.as_string(x % 50)]))
    write = hr.data.experimental.TFRecordWriter(path, compression or None).write(words)
    with hr.Session() as session:
        session.run(write)
    assert values(hr.data.TFRecordDataset(path, compression)) == [
        b"word %d" % (i % 50) for i in range(300)
    ]
    if compression == "GZIP":
        assert gzip.decompress(Path(path).read_bytes()).count(b"word 7") == 6


def test_a_file_that_cannot_be_written_fails(tmp_path: Path) -> None:
    write = E.TFRecordWriter(str(tmp_path / "no" / "file")).write(D.from_tensors("x"))
    with hr.Session() as session, pytest.raises(hr.errors.NotFoundError, match="No such file"):
        session.run(write)


def test_statistics_go_to_the_aggregator_of_the_options() -> None:
    aggregator = E.StatsAggregator()
    options = hr.data.Options()
    options.experimental_stats.aggregator = aggregator
    options.experimental_stats.prefix = "run"
    dataset = D.range(6).apply(E.bytes_produced_stats("bytes")).map(hr.as_string)
    dataset = dataset.apply(E.bytes_produced_stats("text")).apply(E.latency_stats("time"))
    iterator = dataset.with_options(options).make_initializable_iterator()
    following, message = iterator.get_next(), aggregator.get_summary()
    with hr.Session() as session:
        assert session.run(message) == b""
        session.run(iterator.initializer)
        for _ in range(4):
            session.run(following)
        found = hr.Summary.FromString(session.run(message))
    rows = {value.tag: value.histo for value in found.value}
    assert set(rows) == {"run::bytes", "run::text", "run::time"}
    assert (rows["run::bytes"].num, rows["run::bytes"].sum) == (4, 32)
    assert (rows["run::text"].num, rows["run::text"].sum) == (4, 36)
    assert rows["run::time"].num == 4 and rows["run::time"].min > 0


def test_an_aggregator_of_contrib_data() -> None:
    aggregator = E.StatsAggregator()
    dataset = D.range(3).apply(E.bytes_produced_stats("bytes"))
    iterator = dataset.apply(
        hr.contrib.data.set_stats_aggregator(aggregator, "first")
    ).make_initializable_iterator()
    following, message = iterator.get_next(), aggregator.get_summary()
    with hr.Session() as session:
        session.run(iterator.initializer)
        session.run(following)
        found = hr.Summary.FromString(session.run(message))
    assert [value.tag for value in found.value] == ["first::bytes"]


def test_options_about_statistics() -> None:
    options = hr.data.experimental.StatsOptions()
    assert (options.aggregator, options.prefix, options.latency_all_edges) == (None, "", None)
    with pytest.raises(TypeError, match='Property "aggregator" must be of type'):
        options.aggregator = "none"


@pytest.fixture
def people(tmp_path: Path) -> str:
    path = str(tmp_path / "people.db")
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE people (name TEXT, age INTEGER, size REAL, note TEXT)")
        rows = [("Ada", 36, 1.6, None), ("Emmy", 53, 1.5, "x")]
        database.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", rows)
    database.close()
    return path


def test_rows_of_a_query(people: str) -> None:
    types = (hr.string, hr.int32, hr.float64, hr.string, hr.bool, hr.uint8, hr.int64)
    query = "SELECT name, age, size, note, age > 40, age, age FROM people ORDER BY age"
    iterator = E.SqlDataset("sqlite", people, query, types).make_one_shot_iterator()
    with hr.Session() as session:
        rows = drained(session, list(iterator.get_next()))
    assert rows == [
        (b"Ada", 36, 1.6, b"", False, 36, 36),
        (b"Emmy", 53, 1.5, b"x", True, 53, 53),
    ]


@pytest.mark.parametrize(
    ("driver", "query", "types", "message"),
    [
        ("mysql", "SELECT 1", (hr.int32,), r"The database type, mysql, is not supported by "),
        ("sqlite", "SELECT 1, 2", (hr.int32,), r"number of columns in query \(2\) must match"),
        ("sqlite", "SELECT 1", (hr.complex64,), "Each element of `output_types_` must be one of"),
    ],
)
def test_queries_that_fail(people: str, driver: str, query: str, types: Any, message: str) -> None:
    iterator = E.SqlDataset(driver, people, query, types).make_initializable_iterator()
    with (
        hr.Session() as session,
        pytest.raises(hr.errors.InvalidArgumentError, match=message),
    ):
        session.run(iterator.initializer)
        session.run(iterator.get_next())


def test_a_query_that_is_no_sql_fails(people: str, tmp_path: Path) -> None:
    for path, error, message in (
        (people, hr.errors.UnknownError, r'Prepare\(\) failed: \[1\] near "SELEKT": syntax error'),
        (str(tmp_path / "none.db"), hr.errors.NotFoundError, "unable to open database file"),
    ):
        iterator = E.SqlDataset("sqlite", path, "SELEKT 1", (hr.int32,)).make_one_shot_iterator()
        with hr.Session() as session, pytest.raises(error, match=message):
            session.run(iterator.get_next())


def test_rows_of_a_csv_file_that_do_not_parse_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,x\ntwo,y\n3,z\n")
    dataset = E.make_csv_dataset(
        str(path), 2, column_defaults=[hr.int32, hr.string], num_epochs=1, shuffle=False,
        ignore_errors=True,
    )  # fmt: skip
    iterator = dataset.make_one_shot_iterator()
    with hr.Session() as session:
        found = session.run(iterator.get_next())
    assert found["a"].tolist() == [1, 3] and found["b"].tolist() == [b"x", b"z"]
