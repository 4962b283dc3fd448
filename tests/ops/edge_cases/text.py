"""Strings and what is parsed from them: case conversion, formats, patterns, columns, examples."""

from __future__ import annotations

import numpy as np

from edge_cases import EdgeCase, i32, ramp, words

EDGE_CASES: list[EdgeCase] = []

NUL = words([b"ab\0cd", b"\0", b"gr\xc3\xb6\xc3\x9fe", b"\xff\x00Az", b""])
for op in ("StringUpper", "StringLower"):
    for encoding in (b"", b"utf-8", b"latin1"):
        EDGE_CASES.append(EdgeCase(op, [NUL], {"encoding": encoding}))
for unit in (b"BYTE", b"UTF8_CHAR"):
    EDGE_CASES.append(
        EdgeCase("Substr", [NUL, i32([0, 0, 1, 1, 0]), i32([2, 1, 3, 2, 0])], {"unit": unit})
    )
    EDGE_CASES.append(
        EdgeCase("Substr", [words([b"abc"]), i32([0, 1, 2]), i32([1])], {"unit": unit})
    )
    EDGE_CASES.append(EdgeCase("StringLength", [NUL], {"unit": unit}))
EDGE_CASES.append(EdgeCase("StringStrip", [words([b"\0 a \0", b" \t\n\v\f\ra", b"\x1c b\x1f"])]))
EDGE_CASES.append(EdgeCase("StringUpper", [words([b"\xc3\xbf\xc7\x86i"])], {"encoding": b"utf-8"}))

DEEP = ramp(5, 4, 3, 2)
for summarize in (-1, 1, 2, 3):
    for x in (
        DEEP,
        DEEP[0, 0],
        np.zeros((0, 3), np.float32),
        np.zeros((2, 0), np.float32),
        DEEP[0],
    ):
        EDGE_CASES.append(
            EdgeCase("StringFormat", [[x]], {"template": b"{} %s", "summarize": summarize})
        )
EDGE_CASES.append(
    EdgeCase(
        "StringFormat",
        [[words([b'a"b\0c']), words([[b"\xff"]]), np.float32(1e-30)]],
        {"template": b"{}, {}, {}"},
    )
)
for letter in (-1, 0, 0x10FFFF, 0x110000, 10**9):
    of = {"input_encoding": b"UTF-8", "replacement_char": letter}
    EDGE_CASES.append(EdgeCase("UnicodeDecode", [words([b"a\xffb"])], of))
    EDGE_CASES.append(EdgeCase("UnicodeDecodeWithOffsets", [words([])], of))
    EDGE_CASES.append(
        EdgeCase("UnicodeTranscode", [words([b"a\xffb"])], {**of, "output_encoding": b"UTF-8"})
    )
    of = {"output_encoding": b"UTF-8", "replacement_char": letter}
    EDGE_CASES.append(EdgeCase("UnicodeEncode", [i32([97, -1]), np.int64([0, 2])], of))
ALL_BYTES = bytes(range(256))
HALVES = np.arange(20).astype(np.float16) / np.float16(7)
for x in (words(ALL_BYTES), words([[ALL_BYTES], [b"it's"]]), HALVES, np.float32(HALVES) / 3):
    EDGE_CASES.append(EdgeCase("StringFormat", [[x]], {"template": b"<%s>", "summarize": -1}))
for fields in (
    {"width": 2**31},
    {"width": -(2**62)},
    {"precision": 2**31},
    {"fill": b"1"},
    {"fill": b"00"},
    {"fill": b"x"},
    {"fill": b" ", "width": 6},
    {"fill": b"0", "width": 6},
    {"fill": b"-", "width": 6},
    {"fill": b"+", "width": 6},
    {"fill": b"+"},
    {"scientific": True},
    {"shortest": True},
    {"precision": 2},
):
    for x in (
        np.float32([1.5, -2, np.nan, -np.inf]),
        i32([1, -2]),
        words([b"a"]),
        np.array([True]),
    ):
        EDGE_CASES.append(EdgeCase("AsString", [x], fields))
for rewrite in (b"\\1", b"\\2", b"x\\9", b"\\", b"\\q", b"a\\0b", b"\\\\"):
    for pattern in (b"(a)b", b"a", b"", b"b*"):
        for everywhere in (True, False):
            EDGE_CASES.append(
                EdgeCase(
                    "RegexReplace",
                    [words([b"abab", b"", b"xab"]), words(pattern), words(rewrite)],
                    {"replace_global": everywhere},
                )
            )
for pattern in (
    b"a.*",
    b"a.b",
    b"[^b]*",
    b"a$",
    b"(?s)a.b",
    b"a\\Cb",
    b"\\pL+",
    b"(?i)AB",
    b"a{2,1}",
    b"(?=a)",
    b"(",
    b"\\d+",
    b"\\w*",
    b".",
):
    EDGE_CASES.append(
        EdgeCase(
            "StaticRegexFullMatch",
            [words([b"a\nb", b"a\n", b"a", b"ab", b"\xc3\xb6", b"\xff"])],
            {"pattern": pattern},
        )
    )
for ids, n in (([0, 1, 1], 2), ([-2, -2, 2], 3), ([0, 1, 3], 3), ([0, 1, 1], 0), ([0, 1, 1], -1)):
    EDGE_CASES.append(
        EdgeCase(
            "UnsortedSegmentJoin",
            [words([[b"a", b"b"], [b"c", b"d"], [b"e", b"f"]]), i32(ids), i32(n)],
            {"separator": b"-"},
        )
    )
for defaults in (
    [i32([1]), i32([2])],
    [i32([1, 2]), i32([2])],
    [i32([]), i32([])],
    [i32([[1]]), i32([2])],
):
    for line in (b"1,2", b",2", b"1", b"1,2,3"):
        EDGE_CASES.append(EdgeCase("DecodeCSV", [words([line]), defaults]))
