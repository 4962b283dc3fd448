"""Datasets of files: lines, records, CSV tables, parsed Examples."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from elements_of import elements

import headrace.graph as hr

D = hr.data.Dataset
E = hr.data.experimental
FEATURES = {
    "x": hr.FixedLenFeature([2], hr.float32),
    "y": hr.VarLenFeature(hr.int64),
    "name": hr.FixedLenFeature([], hr.string, "?"),
}


def example(number: int) -> bytes:
    feature = {
        "x": hr.train.Feature(float_list=hr.train.FloatList(value=[number, -number])),
        "y": hr.train.Feature(int64_list=hr.train.Int64List(value=range(number % 3))),
    }
    message = hr.train.Example(features=hr.train.Features(feature=feature))
    return message.SerializeToString()


@pytest.fixture
def records(tmp_path: Path) -> list[str]:
    paths = []
    for file in range(3):
        paths.append(str(tmp_path / f"{file}.rec"))
        with hr.python_io.TFRecordWriter(paths[-1]) as writer:
            for i in range(3):
                writer.write(example(3 * file + i))
    return paths


def values(dataset: Any) -> list[Any]:
    return [row[0] if len(row) == 1 else tuple(row) for row in elements(hr, dataset)]


def test_lines_of_text_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\r\n\nlast")
    (tmp_path / "b.txt").write_bytes(gzip.compress(b"packed\n"))
    lines = hr.data.TextLineDataset(str(tmp_path / "a.txt"))
    assert values(lines) == ["one", "two", "", "last"]
    packed = hr.data.TextLineDataset([str(tmp_path / "b.txt")], "GZIP", buffer_size=3)
    assert values(packed) == ["packed"]
    names = D.list_files(str(tmp_path / "*.txt"), shuffle=False)
    assert [Path(name).name for name in values(names)] == ["a.txt", "b.txt"]
    assert values(hr.data.TextLineDataset(names.take(1)).skip(1).take(1)) == ["two"]


def test_no_file_matches(tmp_path: Path) -> None:
    with pytest.raises(hr.errors.InvalidArgumentError, match="No files matched pattern: "):
        values(D.list_files(str(tmp_path / "*.none")))
    with pytest.raises(hr.errors.NotFoundError):
        values(hr.data.TextLineDataset(str(tmp_path / "none")))


def test_records_of_several_files(records: list[str]) -> None:
    assert values_of(hr.data.TFRecordDataset(records)) == list(range(9))
    turns = [0, 3, 1, 4, 2, 5, 6, 7, 8]
    assert values_of(hr.data.TFRecordDataset(records, num_parallel_reads=2)) == turns
    tuned = hr.data.TFRecordDataset(records, num_parallel_reads=E.AUTOTUNE)
    assert sorted(values_of(tuned)) == list(range(9))


def values_of(dataset: Any) -> list[int]:
    """Returns the numbers of the examples."""
    parsed = dataset.map(lambda s: hr.parse_single_example(s, FEATURES)["x"][0])
    return [int(v) for v in values(parsed)]


def test_damaged_records_are_reported(tmp_path: Path, records: list[str]) -> None:
    data = bytearray(Path(records[0]).read_bytes())
    data[30] ^= 1
    Path(records[0]).write_bytes(bytes(data))
    with pytest.raises(hr.errors.DataLossError):
        values(hr.data.TFRecordDataset(records[0]).map(lambda s: hr.size(s)))


def test_records_of_fixed_length(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"HEADabcdefFOOT")
    dataset = hr.data.FixedLengthRecordDataset(str(tmp_path / "a"), 3, 4, 4)
    assert values(dataset) == ["abc", "def"]
    (tmp_path / "b").write_bytes(gzip.compress(b"abcdef"))
    packed = hr.data.FixedLengthRecordDataset(str(tmp_path / "b"), 2, compression_type="GZIP")
    assert values(packed) == ["ab", "cd", "ef"]


def test_batches_of_parsed_examples(tmp_path: Path, records: list[str]) -> None:
    dataset = E.make_batched_features_dataset(
        str(tmp_path / "*.rec"), 4, FEATURES, label_key="x", num_epochs=1, shuffle=False
    )
    element = dataset.make_one_shot_iterator().get_next()
    with hr.Session() as session:
        features, x = session.run(element)
        assert x[:, 0].tolist() == [0, 1, 2, 3] and features["name"].tolist() == [b"?"] * 4
        assert features["y"].dense_shape.tolist() == [4, 2]
        assert features["y"].values.tolist() == [0, 0, 1]


def test_tables_of_csv_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('a,b,c\n1,"x, y",0.5\n2,,NA\n')
    (tmp_path / "b.csv").write_text("a,b,c\n3,z,1.5\n")
    rows = E.CsvDataset(
        str(tmp_path / "a.csv"), [hr.int32, ["none"], [-1.0]], header=True, na_value="NA"
    )
    assert values(rows) == [(1, "x, y", 0.5), (2, "none", -1.0)]
    chosen = E.CsvDataset([str(tmp_path / "b.csv")], [[0], [0.0]], header=True, select_cols=[0, 2])
    assert values(chosen) == [(3, 1.5)]
    batches = E.make_csv_dataset(
        str(tmp_path / "*.csv"), 2, label_name="a", num_epochs=1, shuffle=False, na_value="NA"
    )
    assert values(batches) == [
        (["x, y", ""], [0.5, 0.0], [1, 2]), (["z"], [1.5], [3])
    ]  # fmt: skip


def test_a_missing_field_of_a_required_column_fails(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1\n\n")
    (tmp_path / "b.csv").write_text("1,\n")
    with pytest.raises(hr.errors.InvalidArgumentError):
        values(E.CsvDataset(str(tmp_path / "b.csv"), [hr.int32, hr.int32]))
