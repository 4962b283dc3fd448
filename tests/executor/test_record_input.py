"""RecordInput: batches of records, pass after pass, in random order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace.graph as hr


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with hr.Graph().as_default():
        yield


def written(folder: Path, files: int, records: int, compression: str = "") -> list[bytes]:
    texts = [b"%d" % i for i in range(files * records)]
    options = hr.io.TFRecordOptions(compression) if compression else None
    for number in range(files):
        with hr.io.TFRecordWriter(str(folder / f"part-{number}"), options) as writer:
            for text in texts[number * records :][:records]:
                writer.write(text)
    return texts


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
@pytest.mark.parametrize("buffer_size", [1, 7, 10000])
def test_each_pass_gives_every_record_once(
    buffer_size: int, compression: str, tmp_path: Path
) -> None:
    texts = written(tmp_path, 4, 5, compression)
    batch = hr.raw_ops.RecordInput(
        file_pattern=str(tmp_path / "part-*"), file_buffer_size=buffer_size, batch_size=7,
        file_shuffle_shift_ratio=0.3, compression_type=compression,
    )  # fmt: skip
    with hr.Session() as session:
        found = [text for _ in range(20) for text in session.run(batch)]
    passes = [found[i : i + 20] for i in range(0, 140, 20)]
    assert all(sorted(one) == sorted(texts) for one in passes)
    assert any(one != passes[0] for one in passes) and passes[0] != texts


def test_equal_seeds_give_equal_orders_and_sessions_have_their_own(tmp_path: Path) -> None:
    written(tmp_path, 3, 4)
    pattern = str(tmp_path / "part-*")
    batches = [
        hr.raw_ops.RecordInput(file_pattern=pattern, file_random_seed=seed, batch_size=12)
        for seed in (1, 1, 2)
    ]
    with hr.Session() as session, hr.Session() as other:
        one, same, differs = ([*session.run(batch)] for batch in batches)
        assert one == same != differs
        assert [*other.run(batches[0])] == one


def test_bad_attributes_and_files_are_refused(tmp_path: Path) -> None:
    written(tmp_path, 1, 3)
    pattern = str(tmp_path / "part-*")
    (tmp_path / "empty").touch()
    (tmp_path / "torn").write_bytes((tmp_path / "part-0").read_bytes()[:-5])
    errors = hr.errors
    for attributes, kind, words in [
        ({"file_buffer_size": 0}, errors.InvalidArgumentError, "file_buffer_size must be > 0"),
        ({"file_parallelism": 0}, errors.InvalidArgumentError, "file_parallelism must be > 0"),
        ({"batch_size": -1}, errors.InvalidArgumentError, "batch_size must be > 0"),
        ({"file_shuffle_shift_ratio": 1.5}, errors.InvalidArgumentError, "shift_ratio must be in"),
        ({"compression_type": "LZ"}, errors.InvalidArgumentError, "Unsupported compression_type"),
        ({"file_pattern": str(tmp_path / "none*")}, errors.NotFoundError, "Found no files at"),
        ({"file_pattern": str(tmp_path / "empty")}, errors.OutOfRangeError, "have no records"),
        ({"file_pattern": str(tmp_path / "torn")}, errors.DataLossError, "truncated"),
    ]:
        batch = hr.raw_ops.RecordInput(**{"file_pattern": pattern, "batch_size": 3, **attributes})
        with hr.Session() as session, pytest.raises(kind, match=words):
            session.run(batch)
