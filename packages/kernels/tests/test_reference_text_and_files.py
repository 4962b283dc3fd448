"""The reference kernels of strings, parsing, summaries, logging, scripts and checkpoints."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headrace.formats import callables, errors
from headrace.formats.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError
from headrace.formats.proto.summary_pb2 import Summary
from headrace.kernels.reference import library
from headrace.kernels.reference.oracle import complete_attrs, run


def text(*values: bytes) -> np.ndarray:
    result = np.empty(len(values), object)
    result[:] = values
    return result


def one(value: bytes) -> np.ndarray:
    return np.array(value, object)


@pytest.mark.parametrize(
    ("value", "bucket"),
    [(b"", 1936946117179621455), (b"Hello", 1569640939275362439)],
)
def test_fast_hashes_are_the_same_everywhere(value: bytes, bucket: int) -> None:
    got = run("StringToHashBucketFast", text(value), num_buckets=2**62)[0]
    assert got.tolist() == [bucket]


def test_characters_and_bytes_are_counted_apart() -> None:
    word = text("größe".encode())
    assert run("StringLength", word)[0].tolist() == [7]
    assert run("StringLength", word, unit="UTF8_CHAR")[0].tolist() == [5]


def test_a_text_that_is_not_a_number_is_rejected() -> None:
    with pytest.raises(InvalidArgumentError, match="could not correctly convert string: abc"):
        run("StringToNumber", text(b"abc"))


def test_tensors_are_shown_by_their_ends() -> None:
    output = run("StringFormat", [np.arange(10), np.array([0.1, 1 / 3], np.float32)],
               template="%s, %s")[0]  # fmt: skip
    assert output.item() == b"[0 1 2 ... 7 8 9], [0.1 0.333333343]"


def test_csv_takes_quotes_defaults_and_rejects_what_is_missing() -> None:
    a, b = run(
        "DecodeCSV",
        text(b'1,"x, y"', b",z"),
        [np.array([9], np.int32), np.empty(0, object)],
    )
    assert a.tolist() == [1, 9] and b.tolist() == [b"x, y", b"z"]
    with pytest.raises(InvalidArgumentError, match="Field 1 is required but missing in record 0"):
        run("DecodeCSV", text(b"1,"), [np.array([9], np.int32), np.empty(0, object)])


def test_an_image_summary_holds_a_png_of_scaled_pixels() -> None:
    pixels = np.array([0.0, 0.5, 1.0, np.nan], np.float32).reshape(1, 2, 2, 1)
    message = Summary.FromString(run("ImageSummary", one(b"t"), pixels, max_images=1)[0].item())
    (value,) = message.value
    assert (value.tag, value.image.height, value.image.colorspace) == ("t/image", 2, 1)
    data = value.image.encoded_image_string
    start = data.index(b"IDAT") + 4
    assert zlib.decompress(data[start:]) == b"\0\x00\x7f\0\xff\xff"


def test_merging_summaries_of_one_tag_is_rejected() -> None:
    summary = run("ScalarSummary", one(b"t"), np.float32(1))[0]
    with pytest.raises(InvalidArgumentError, match="Duplicate tag t"):
        run("MergeSummary", [summary, summary])


def test_a_failed_assertion_reports_its_data() -> None:
    with pytest.raises(InvalidArgumentError, match=r"assertion failed: \[x was\] \[0 1 2...\]"):
        run("Assert", np.array(False), [text(b"x was"), np.arange(9)])


def test_check_numerics_names_what_it_found() -> None:
    with pytest.raises(InvalidArgumentError, match="loss : Tensor had Inf and NaN values"):
        run("CheckNumerics", np.array([np.nan, np.inf]), message="loss")


def test_print_prints_only_the_first_n_times(capsys: Any) -> None:
    attrs = complete_attrs("Print", [np.ones(1), [np.arange(2)]], {"message": "m", "first_n": 1})
    kernel = library().create("Print", attrs)
    for _ in range(3):
        kernel(np.ones(1), np.arange(2))
    assert capsys.readouterr().err == "m[0 1]\n"


def test_py_func_calls_the_function_of_its_token() -> None:
    def double(x: np.ndarray) -> np.ndarray:
        return 2 * x

    kept = callables.register(double)
    token = kept.token
    got = run("PyFunc", [np.arange(3.0)], token=token, Tout=["float64"])[0]
    assert got.tolist() == [0.0, 2.0, 4.0]
    with pytest.raises(InvalidArgumentError, match="0-th value .* float64, but expects float32"):
        run("PyFunc", [np.arange(3.0)], token=token, Tout=["float32"])


def test_a_token_of_another_process_is_rejected() -> None:
    with pytest.raises(FailedPreconditionError, match="no such function in process"):
        run("PyFunc", [], token="pyfunc_from_elsewhere", Tout=[])


def test_a_checkpoint_is_read_back_whole_and_in_slices(tmp_path: Path) -> None:
    prefix, x = str(tmp_path / "model").encode(), np.arange(12.0).reshape(3, 4)
    run("SaveV2", one(prefix), text(b"a", b"b"), text(b"", b"3 4 1,2:-"), [np.int32(7), x[1:]])
    a, b = run(
        "RestoreV2", one(prefix), text(b"a", b"b"), text(b"", b"3 4 2,1:0,2"),
        dtypes=["int32", "float64"],
    )  # fmt: skip
    assert a == 7 and b.tolist() == [[8.0, 9.0]]
    with pytest.raises(InvalidArgumentError, match="expected dtype float32 does not equal"):
        run("RestoreV2", one(prefix), text(b"a"), text(b""), dtypes=["float32"])


def test_a_checkpoint_of_format_v1_is_read_back_whole_and_in_slices(tmp_path: Path) -> None:
    path, x = one(str(tmp_path / "v1").encode()), np.arange(12.0).reshape(3, 4)
    run("SaveSlices", path, text(b"a", b"b"), text(b"", b"3 4 -:-"), [np.int32(7), x])
    assert run("Restore", path, one(b"a"), dt="int32")[0] == 7
    b = run("RestoreSlice", path, one(b"b"), one(b"3 4 2,1:0,2"), dt="float64")[0]
    assert b.tolist() == [[8.0, 9.0]]
    a = run("RestoreV2", path, text(b"a"), text(b""), dtypes=["int32"])[0]
    assert a == 7
    run("Save", path, text(b"a"), [np.float32(1.5)])
    assert run("Restore", path, one(b"a"), dt="float32")[0] == 1.5


def test_shards_are_named_as_everywhere() -> None:
    name = run("ShardedFilename", one(b"m"), np.int32(2), np.int32(10))[0]
    assert name.item() == b"m-00002-of-00010"


def test_files_are_written_read_and_matched(tmp_path: Path) -> None:
    path = str(tmp_path / "deep" / "a.txt").encode()
    run("WriteFile", one(path), one(b"hello"))
    assert run("ReadFile", one(path))[0].item() == b"hello"
    pattern = str(tmp_path / "deep" / "*.txt").encode()
    assert run("MatchingFiles", text(pattern))[0].tolist() == [path]
    with pytest.raises(NotFoundError, match="No such file"):
        run("ReadFile", one(path + b".gone"))


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (StopIteration(), errors.OutOfRangeError),
        (TypeError("no"), errors.InvalidArgumentError),
        (ValueError("no"), errors.InvalidArgumentError),
        (NotImplementedError("no"), errors.UnimplementedError),
        (LookupError("no"), errors.UnknownError),
        (errors.AbortedError(None, None, "no"), errors.AbortedError),
    ],
)
def test_exceptions_of_py_func_have_the_codes_of_tensorflow(
    raised: Exception, kind: type[Exception]
) -> None:
    def fail() -> None:
        raise raised

    registered = callables.register(fail)
    with pytest.raises(kind) as caught:
        run("PyFunc", [], token=registered.token, Tout=[])
    if kind in (errors.InvalidArgumentError, errors.UnknownError):
        assert "test_reference_text_and_files.py" in str(caught.value)
        assert str(caught.value).startswith(f"{type(raised).__name__}: ")
