"""Cases of the strings family."""

from __future__ import annotations

from cases.case import Case, literal, real

_WORDS = literal(
    [
        b"",
        b"a",
        b" Two words\t",
        b"one,two,,three",
        "größe ☃".encode(),
        b"\x00\xff\x80",
        b"x" * 200,
    ],
    "string",
)
_LONG = literal(
    [bytes(range(n)) for n in (3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 200)], "string"
)
_MORE = literal([b"abc", b"", "aßc☃".encode()], "string")
CASES = [
    Case("AsString", (real(3, 4, low=-9, high=9),)),
    Case("AsString", (real(3),), {"precision": 2}, dtypes=("float32", "float64", "complex64")),
    Case("AsString", (real(3),), {"scientific": True}, dtypes=("float32", "float64")),
    Case("AsString", (real(3),), {"shortest": True}, dtypes=("float32", "float64")),
    Case("AsString", (real(3),), {"width": 9, "fill": "0"}, dtypes=("float32", "int32")),
    Case(
        "StringToNumber",
        (literal([b"1", b" -3.5 ", b"1e3", b"inf", b"0x10", b"nan"], "string"),),
        {"out_type": "float32"},
    ),
    Case("StringToNumber", (literal([b"1", b" -35 "], "string"),), {"out_type": "int64"}),
    Case("StringToNumber", (literal([b"1", b"-2147483648"], "string"),), {"out_type": "int32"}),
    Case(
        "StringToNumber",
        (literal([b"0.1", b"-1e-300", b"123456789012345678901234567890"], "string"),),
        {"out_type": "float64"},
    ),
    Case("AsString", (_WORDS,), {"width": 6, "fill": "-"}, dtypes=("string",)),
    Case("StringLength", (_WORDS,)),
    Case("StringLength", (_WORDS,), {"unit": "UTF8_CHAR"}),
    Case("StringLower", (_WORDS,)),
    Case("StringUpper", (_MORE,)),
    Case(
        "StringUpper",
        (literal([b"abc", "größe".replace("ß", "s").encode()], "string"),),
        {"encoding": "utf-8"},
    ),
    Case("StringStrip", (_WORDS,)),
    Case("Substr", (_MORE, literal([1, 0, -2]), literal([9, 0, 1]))),
    Case("Substr", (_MORE, literal([1, 0, -2]), literal([9, 0, 1])), {"unit": "UTF8_CHAR"}),
    Case("Substr", (_MORE, literal(0), literal(2))),
    Case("DecodeBase64", (literal([b"YQ", b"-_8", b"YWI="], "string"),)),
    Case("EncodeBase64", (_WORDS,)),
    Case("EncodeBase64", (_WORDS,), {"pad": True}),
    Case("StringToHashBucket", (_LONG,), {"num_buckets": 1 << 40}),
    Case("StringToHashBucketFast", (_LONG,), {"num_buckets": 1 << 62}),
    Case("StringToHashBucketFast", (_WORDS,), {"num_buckets": 10}),
    Case("StringToHashBucketStrong", (_LONG,), {"num_buckets": 1 << 62, "key": [123, 456]}),
    Case("RegexFullMatch", (_MORE, literal(b"[a-z]*,?.*", "string"))),
    Case("StaticRegexFullMatch", (_WORDS,), {"pattern": "one.*"}),
    Case("RegexReplace", (_WORDS, literal(b"(o)(.)", "string"), literal(b"<\\2\\1\\0>", "string"))),
    Case(
        "StaticRegexReplace", (_WORDS,), {"pattern": "o", "rewrite": "0", "replace_global": False}
    ),
    Case("UnicodeTranscode", (_MORE,), {"input_encoding": "UTF-8", "output_encoding": "UTF-16-BE"}),
    Case(
        "UnicodeTranscode",
        (literal([b"a\xffb", b"\x01"], "string"),),
        {"input_encoding": "UTF-8", "output_encoding": "UTF-8", "replacement_char": 63},
    ),
    Case(
        "UnicodeTranscode",
        (literal([b"a\xffb", b"\x01\n"], "string"),),
        {
            "input_encoding": "UTF-8",
            "output_encoding": "UTF-32-BE",
            "errors": "ignore",
            "replace_control_characters": True,
        },
    ),
    Case("UnicodeDecode", (_MORE,), {"input_encoding": "UTF-8"}),
    Case("UnicodeDecodeWithOffsets", (_MORE,), {"input_encoding": "UTF-8"}),
    Case(
        "UnicodeEncode",
        (literal([97, 9731, 0x1F600, 55296]), literal([0, 1, 1, 4], "int64")),
        {"output_encoding": "UTF-8"},
    ),
    Case("StringJoin", ([_MORE, literal(b"-", "string"), _MORE],), {"separator": "+"}),
    Case(
        "ReduceJoin",
        (literal([[b"a", b"b"], [b"c", b"d"]], "string"), literal([0])),
        {"separator": "."},
    ),
    Case("ReduceJoin", (literal([[b"a", b"b"], [b"c", b"d"]], "string"), literal([1, 0]))),
    Case(
        "ReduceJoin",
        (literal([[b"a", b"b"], [b"c", b"d"]], "string"), literal(-1)),
        {"keep_dims": True},
    ),
    Case(
        "StringFormat",
        ([real(10), real(2, 8, 3), literal([b"a", b"b\xff"], "string"), literal(b"x", "string")],),
        {"template": "%s and %s, %s%s."},
        dtypes=("int32", "float64", "float32"),
    ),
    Case("StringSplit", (literal([b" a,  b ", b"", b"c,d"], "string"), literal(b", ", "string"))),
    Case(
        "StringSplit",
        (literal([b" a,  b ", b"", b"c,d"], "string"), literal(b", ", "string")),
        {"skip_empty": False},
    ),
    Case("UnicodeScript", (literal([97, 0x3B1, 0x4E2D, 32, -1, 0x110000, 0xD800, 0x1F600]),)),
    Case("StringSplit", (_MORE, literal(b"", "string"))),
    Case("StringSplitV2", (literal([b" a  b ", b"", b"c,d"], "string"), literal(b"", "string"))),
    Case(
        "StringSplitV2",
        (literal([b"a,,b,c", b"", b"c,d"], "string"), literal(b",", "string")),
        {"maxsplit": 2},
    ),
]
CASES += [
    Case(
        "StringNGrams",
        (literal([b"a", b"b", b"c", b"d"], "string"), literal([0, 1, 1, 4], "int64")),
        {
            "separator": "|",
            "ngram_widths": [2, 3],
            "left_pad": "L",
            "right_pad": "R",
            "pad_width": pad,
            "preserve_short_sequences": keep,
        },
    )
    for pad in (-1, 0, 1, 5)
    for keep in (False, True)
]
