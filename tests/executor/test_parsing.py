"""Parse ops on messages that are unusual, invalid or corrupted, against protobuf's own parser."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.errors import DataLossError, InvalidArgumentError, OpError
from headrace.formats.proto.example_pb2 import Example, Feature, SequenceExample

_VALUES = {"i": "int64_list", "f": "float_list", "b": "bytes_list"}
_DTYPES = {"i": "int64", "f": "float32", "b": "string"}


def _random_feature(dice: np.random.Generator, kind: str, size: int) -> Feature:
    feature = Feature()
    values: Any = getattr(feature, _VALUES[kind]).value
    if kind == "i":
        values.extend(int(v) for v in dice.choice([0, 1, 127, 128, -1, 2**62, -(2**63)], size))
    elif kind == "f":
        values.extend(dice.standard_normal(size).astype(np.float32).tolist())
    else:
        values.extend(dice.bytes(dice.integers(0, 400)) for _ in range(size))
    feature.SetInParent()
    return feature


def _held(feature: Feature, kind: str) -> list[Any]:
    return list(getattr(feature, _VALUES[kind]).value)


def test_random_examples_have_the_values_of_their_messages() -> None:
    """More examples than threads, many features, some missing; the sum of all is compared."""
    dice = np.random.default_rng(1)
    keys = [f"{kind}{n}" for kind in "ifb" for n in range(14)]  # more than 32
    messages = []
    for _ in range(70):
        example = Example()
        for key in dice.permutation(keys):
            if dice.random() < 0.8:
                feature = _random_feature(dice, key[0], int(dice.integers(0, 4)))
                example.features.feature[key].CopyFrom(feature)
        messages.append(example)
    features = {key: hr.VarLenFeature(_DTYPES[key[0]]) for key in keys}
    with hr.Session() as session:
        found = session.run(hr.parse_example([m.SerializeToString() for m in messages], features))
    for key in keys:
        rows = [_held(m.features.feature[key], key[0]) for m in messages]
        places = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
        assert found[key].values.tolist() == [v for row in rows for v in row]
        assert found[key].indices.tolist() == [list(place) for place in places]
        assert found[key].dense_shape.tolist() == [70, max(map(len, rows))]


# Ways to write {"k": [3, -1]} that protobuf's parser accepts.
_LIST = b"\x0a\x0b\x03" + b"\xff" * 9 + b"\x01"
_NUMBERS = b"\x1a" + bytes([len(_LIST)]) + _LIST
_UNPACKED = b"\x1a\x0d\x08\x03\x08" + b"\xff" * 9 + b"\x01"
_TWO_PARTS = b"\x1a\x03\x0a\x01\x03\x1a\x0d\x0a\x0b" + b"\xff" * 9 + b"\x01"


def _entry(feature: bytes, key: bytes = b"k") -> bytes:
    entry = b"\x0a" + bytes([len(key)]) + key + b"\x12" + bytes([len(feature)]) + feature
    return b"\x0a" + bytes([len(entry)]) + entry


def _example(*entries: bytes) -> bytes:
    features = b"".join(entries)
    return b"\x0a" + bytes([len(features)]) + features


@pytest.mark.parametrize(
    "message",
    [
        _example(_entry(_NUMBERS)),
        _example(_entry(_UNPACKED)),
        _example(_entry(_TWO_PARTS[:5] + b"\x1a\x0c" + b"\x0a\x0a" + b"\xff" * 9 + b"\x01")),
        _example(_entry(b"\x12\x00" + _NUMBERS)),  # another kind before
        _example(_entry(b"\x12\x06\x0a\x04\x00\x00\x80\x3f"), _entry(_NUMBERS)),  # the last counts
        _example(_entry(_NUMBERS), _entry(_NUMBERS, b"other")),
        _example(_entry(_NUMBERS)) + b"\x12\x03abc",  # unknown fields
        b"\x0a\x00" + _example(_entry(_NUMBERS)),  # two messages of features are joined
        _example(_entry(b"\xf8\x01\x05" + _NUMBERS)),
    ],
)
def test_messages_of_unusual_form(message: bytes) -> None:
    held = Example.FromString(message).features.feature["k"].int64_list.value
    assert list(held) == [3, -1]
    dense = hr.parse_single_example(message, {"k": hr.FixedLenFeature([2], "int64")})
    sparse = hr.parse_example([message], {"k": hr.VarLenFeature("int64")})
    with hr.Session() as session:
        assert session.run(dense["k"]).tolist() == [3, -1]
        assert session.run(sparse["k"]).values.tolist() == [3, -1]


def _message(**features: list[Any]) -> bytes:
    example = Example()
    for key, values in features.items():
        kind = "b" if isinstance(values[0], bytes) else "f" if isinstance(values[0], float) else "i"
        getattr(example.features.feature[key], _VALUES[kind]).value.extend(values)
    return example.SerializeToString()


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"x": hr.FixedLenFeature([2], "float32")},
         r"Name: second, Key: x, Index: 1\.  Number of float values != expected\.  "
         r"values size: 1 but output shape: \[2\]"),
        ({"n": hr.FixedLenFeature([], "float32", 0.0)},
         r"Name: first, Key: n, Index: 0\.  Data types don't match\. Data type: int64 but expected "
         r"type: float"),
        ({"n": hr.FixedLenFeature([], "int64")},
         r"Name: second, Feature: n \(data type: int64\) is required but could not be found"),
        ({"n": hr.VarLenFeature("string")}, r"Key: n, Index: 0\.  Data types don't match"),
        ({"x": hr.FixedLenSequenceFeature([2], "float32", True)},
         r"Key: x, Index: 1\.  Number of float values is not a multiple of stride length"),
    ],
)  # fmt: skip
def test_errors_name_the_example_and_the_feature(features: dict[str, Any], message: str) -> None:
    batch = [_message(x=[1.0, 2.0], n=[1]), _message(x=[3.0])]
    parsed = hr.parse_example(batch, features, example_names=["first", "second"])
    with hr.Session() as session, pytest.raises(InvalidArgumentError, match=message):
        session.run(parsed)


def test_corrupted_messages_are_rejected_or_read_as_protobuf_reads_them() -> None:
    whole = _message(i=[1, 300], f=[1.5], b=[b"text", b""])
    sequence = SequenceExample()
    for step in ([1], [2, 3]):
        sequence.feature_lists.feature_list["i"].feature.add().int64_list.value.extend(step)
    sequence.context.feature["f"].float_list.value.append(2.0)
    text = hr.placeholder(hr.string, [])
    kinds = {k: hr.VarLenFeature(_DTYPES[k]) for k in "ifb"}
    one = hr.parse_single_example(text, kinds)
    many = hr.io.parse_sequence_example([text], {"f": kinds["f"]}, {"i": kinds["i"]})
    dice = np.random.default_rng(2)
    rejected = 0
    with hr.Session() as session:
        for fetch, message in ((one, whole), (many, sequence.SerializeToString())):
            for n in range(150):
                changed = bytearray(message[: len(message) - n % 3])
                changed[int(dice.integers(len(changed)))] ^= 1 << int(dice.integers(8))
                try:
                    found = session.run(fetch, {text: bytes(changed)})
                except InvalidArgumentError:
                    rejected += 1
                    continue
                if fetch is not one:
                    continue
                try:
                    held = Example.FromString(bytes(changed)).features.feature
                except Exception:  # protobuf also checks that keys are UTF-8
                    continue
                for key in "ifb":
                    assert found[key].values.tolist() == _held(held[key], key)
    assert rejected > 100


def test_long_values_share_the_memory_of_their_message_and_outlive_it() -> None:
    batch = hr.placeholder(hr.string, [None])
    parsed = hr.parse_example(batch, {"b": hr.FixedLenFeature([], "string")})["b"]
    queue = hr.FIFOQueue(10, [hr.string], shapes=[[2]])
    put, get = queue.enqueue([parsed]), queue.dequeue()
    with hr.Session() as session:
        for n in range(3):
            session.run(put, {batch: [_message(b=[bytes([n, k]) * 500]) for k in range(2)]})
        for n in range(3):
            assert session.run(get).tolist() == [bytes([n, k]) * 500 for k in range(2)]


def test_invalid_features_are_rejected_when_the_graph_is_built() -> None:
    sequence = hr.FixedLenSequenceFeature
    for features in (
        None,
        {},
        {"k": 3},
        {"k": hr.VarLenFeature(None)},
        {"k": hr.FixedLenFeature(None, "int64")},
        {"k": hr.FixedLenFeature([1], None)},
        {"k": hr.FixedLenFeature([None], "int64")},
        {"k": hr.FixedLenFeature([2, None], "int64")},
        {"k": sequence([1], "int64")},
        {"k": hr.SparseFeature("", "v", "int64", 1)},
        {"k": hr.SparseFeature("i", None, "int64", 1)},
        {"k": hr.SparseFeature(["i", "j"], "v", "int64", [1])},
        {"k": hr.SparseFeature("v", "v", "float32", 1)},
    ):
        with pytest.raises(ValueError):
            hr.parse_example(["x"], features)
    for context, lists in (
        (None, None),
        ({"k": sequence([1], "int64")}, None),
        (None, {"k": hr.FixedLenFeature([1], "int64")}),
    ):
        with pytest.raises(ValueError):
            hr.io.parse_sequence_example(["x"], context, lists)
        with pytest.raises(ValueError):
            hr.parse_single_sequence_example("x", context, lists)


def test_a_feature_list_that_is_required() -> None:
    message = SequenceExample().SerializeToString()
    required = {"x": hr.FixedLenSequenceFeature([], "int64")}
    fetches = [
        hr.io.parse_sequence_example([message], None, required, example_names=["it"])[1],
        hr.parse_single_sequence_example(message, None, required)[1],
    ]
    with hr.Session() as session:
        for fetch in fetches:
            with pytest.raises(
                InvalidArgumentError, match="Feature list 'x' is required but could"
            ):
                session.run(fetch)


@pytest.mark.parametrize(
    ("line", "arguments", "message"),
    [
        ("1,2,3", {}, "Expect 2 fields but have 3 in record 0"),
        ("", {}, "Expect 2 fields but have 0 in record 0"),
        ("x,2", {}, "Field 0 in record 0 is not a valid int32: x"),
        ("99999999999,2", {}, "is not a valid int32"),
        ("1,", {}, "Field 1 is required but missing in record 0!"),
        ('1,a"b', {}, "Unquoted fields cannot have quotes/CRLFs inside"),
        ('1,"a"b"', {}, "Quote inside a string has to be escaped by another quote"),
        ('1,"ab', {}, "Quoted field has to end with quote followed by delim or end"),
        ("1", {"select_cols": [0, 4]}, "Expect 2 fields but have 1"),
    ],
)
def test_invalid_lines_of_csv(line: str, arguments: dict[str, Any], message: str) -> None:
    columns = hr.decode_csv([line], [[0], hr.constant([], hr.string)], **arguments)
    with hr.Session() as session, pytest.raises(InvalidArgumentError, match=message):
        session.run(columns)


def test_tensors_of_every_dtype_are_serialised_and_parsed() -> None:
    dtypes = "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool"
    with hr.Session() as session:
        for name in f"{dtypes} complex64 complex128".split():
            value = np.arange(6).reshape(2, 3).astype(name)
            text = hr.serialize_tensor(value)
            assert np.array_equal(session.run(hr.parse_tensor(text, name)), value)
            proto = hr.make_tensor_proto(value[:1, :1]).SerializeToString()
            assert np.array_equal(session.run(hr.parse_tensor(proto, name)), value[:1, :1])
            with pytest.raises(InvalidArgumentError, match="Type mismatch"):
                session.run(hr.parse_tensor(text, "string"))
        words = np.array([[b"a", b""], [b"ccc", b"d"]], object)
        assert np.array_equal(
            session.run(hr.parse_tensor(hr.serialize_tensor(words), "string")), words
        )
        # One value stands for all: {dtype: DT_FLOAT, shape: [3], float_val: 2.0}.
        fill = b"\x08\x01\x12\x04\x12\x02\x08\x03\x2a\x04\x00\x00\x00\x40"
        assert session.run(hr.parse_tensor(fill, "float32")).tolist() == [2.0] * 3
        for bad in (b"\x08", b"\x08\x01\x12\x04\x12\x02\x08\x03\x22\x01x",
                    b"\x08\x01\x12\x0e\x12\x0b\x08" + b"\xff" * 9 + b"\x01",
                    b"\x08\x01\x12\x0d\x12\x0a\x08" + b"\xff" * 8 + b"\x7f"):  # fmt: skip
            with pytest.raises(OpError):
                session.run(hr.parse_tensor(bad, "float32"))


def test_what_cannot_be_decompressed_is_data_loss() -> None:
    with hr.Session() as session:
        for kind in ("ZLIB", "GZIP"):
            with pytest.raises(DataLossError):
                session.run(hr.decode_compressed([b"no stream"], kind))
