"""Cases of the parsing family."""

from __future__ import annotations

import gzip
import zlib

from cases.case import Case, literal
from headrace.formats.proto.example_pb2 import Example, SequenceExample


def _example(age: list[int], words: list[bytes], score: list[float]) -> bytes:
    example = Example()
    if age:
        example.features.feature["age"].int64_list.value.extend(age)
    example.features.feature["words"].bytes_list.value.extend(words)
    example.features.feature["score"].float_list.value.extend(score)
    return example.SerializeToString()


_EXAMPLES = literal(
    [
        _example([3], [b"a", b"b"], [1.0, 2.0]),
        _example([], [], [3.0, 4.5]),
        _example([-7], [b"c"], [0, 1]),
    ],
    "string",
)
_NO_NAMES = literal([], "string")


def _sequence() -> bytes:
    example = SequenceExample()
    example.context.feature["age"].int64_list.value.append(9)
    example.context.feature["words"].bytes_list.value.extend([b"x", b"y"])
    for row in ([1.0, 2.0], [3.0, 4.0], [5.0, 6.0]):
        example.feature_lists.feature_list["track"].feature.add().float_list.value.extend(row)
    for ids in ([1], [2, 3], []):
        example.feature_lists.feature_list["ids"].feature.add().int64_list.value.extend(ids)
    return example.SerializeToString()


def _text(*values: bytes) -> object:
    return literal(list(values), "string")


CASES = [
    Case("DecodeRaw", (_text(b"\x01\x02\x03\x04", b"\xff\xfe\xfd\xfc"),), {"out_type": t})
    for t in ("uint8", "int16", "int32", "float32", "bool")
]
CASES += [
    Case("DecodeRaw", (_text(b"\x01\x02\x03\x04"),), {"out_type": "int16", "little_endian": False}),
    Case("DecodePaddedRaw", (_text(b"abc", b"abcdef"), literal(4)), {"out_type": "int16"}),
    Case("DecodeCompressed", (_text(zlib.compress(b"hello")),), {"compression_type": "ZLIB"}),
    Case(
        "DecodeCompressed",
        (_text(gzip.compress(b"hello", mtime=0)),),
        {"compression_type": "GZIP"},
    ),
    Case("DecodeCompressed", (_text(b"hello"),)),
    Case(
        "ParseTensor",
        (literal(b"\x08\x01\x12\x04\x12\x02\x08\x02\x22\x08\x00\x00\x80?\x00\x00\x00@", "string"),),
        {"out_type": "float32"},
    ),
    Case(
        "DecodeJSONExample",
        (_text(b'{"features": {"feature": {"a": {"int64List": {"value": ["7"]}}}}}'),),
        exact=False,
    ),
    Case(
        "DecodeCSV",
        (
            _text(b'1,"a, b",2.5', b'-3,"say ""x""",', b"4,,1e3"),
            [literal([], "int32"), literal([b"none"], "string"), literal([0.5], "float32")],
        ),
    ),
    Case(
        "DecodeCSV",
        (_text(b"1;NA;7", b"2;5;8"), [literal([9], "int64"), literal([], "int64")]),
        {"field_delim": ";", "na_value": "NA", "select_cols": [1, 2]},
    ),
    Case(
        "ParseExample",
        (
            _EXAMPLES,
            _NO_NAMES,
            [literal(b"words", "string")],
            [literal(b"age", "string"), literal(b"score", "string")],
            [literal([-1], "int64"), literal([], "float32")],
        ),
        {"sparse_types": ["string"], "dense_shapes": [(1,), (2,)]},
    ),
    Case(
        "ParseExampleV2",
        (
            _EXAMPLES,
            _NO_NAMES,
            _text(b"age"),
            _text(b"score"),
            _text(b"words"),
            [literal([], "float32")],
        ),
        {
            "num_sparse": 1,
            "sparse_types": ["int64"],
            "ragged_value_types": ["string"],
            "ragged_split_types": ["int32"],
            "dense_shapes": [(2,)],
        },
    ),
    Case(
        "ParseSingleExample",
        (literal(_example([3], [b"a", b"b"], [1.0, 2.0]), "string"), [literal([], "float32")]),
        {
            "num_sparse": 1,
            "sparse_keys": ["words"],
            "dense_keys": ["score"],
            "sparse_types": ["string"],
            "dense_shapes": [(2,)],
        },
    ),
    Case(
        "ParseSingleSequenceExample",
        (
            literal(_sequence(), "string"),
            literal([], "string"),
            [literal(b"words", "string")],
            [literal(b"age", "string")],
            [literal(b"ids", "string")],
            [literal(b"track", "string")],
            [literal([], "int64")],
            literal(b"", "string"),
        ),
        {
            "context_sparse_types": ["string"],
            "context_dense_shapes": [()],
            "feature_list_dense_types": ["float32"],
            "feature_list_sparse_types": ["int64"],
            "feature_list_dense_shapes": [(2,)],
        },
    ),
]
