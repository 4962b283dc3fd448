"""Strings, parsing, assertions and prints."""

from __future__ import annotations

import numpy as np

_WORDS = ["one two  three", "", "größe ß", "A,b"]


def _parts(x):
    return [x.indices, x.values, x.dense_shape]


def strings(m):
    x = m.constant(_WORDS)
    return [
        m.string_join([x, x, "!"], separator="-"),
        m.strings.join([x, "?"]),
        m.reduce_join([["a", "b"], ["c", "d"]], 1, separator="+"),
        m.reduce_join([["a", "b"], ["c", "d"]], [1, 0], keep_dims=True),
        m.strings.reduce_join([["a", "b"], ["c", "d"]]),
        *_parts(m.string_split(x)),
        *_parts(m.string_split(x, ", ", skip_empty=False)),
        *_parts(m.string_split(["abc"], "")),
        *_parts(m.strings.split(x)),
        *_parts(m.strings.split(x, " ", 1)),
        m.substr(x[:1], 1, 3),
        m.strings.substr(x[2:3], 1, 3, unit="UTF8_CHAR"),
        m.string_strip([" a b ", "\tc\n"]),
        m.strings.length(x),
        m.strings.length(x, unit="UTF8_CHAR"),
        m.strings.lower(x),
        m.strings.upper(x, encoding="utf-8"),
        m.regex_replace(x, "[aeiou]", "*"),
        m.regex_replace(x, "(t)(w)", r"\2\1", replace_global=False),
        m.strings.regex_replace(x, m.constant("o"), "0"),
        m.strings.regex_full_match(x, "o.*e"),
        m.strings.regex_full_match(x, m.constant("A.b")),
        m.strings.format("x {} y {}", [m.range(10), m.constant([[1.5], [2.0]])]),
        m.strings.unsorted_segment_join(["a", "b", "c"], [1, 0, 1], 2, ":"),
        m.strings.unicode_transcode(x, "UTF-8", "UTF-16-BE"),
    ]


def numbers(m):
    x = m.constant(_WORDS)
    return [
        m.as_string([1, -20]),
        m.as_string([1.5, -2.25], precision=1),
        m.as_string([1.5], scientific=True),
        m.as_string([7], width=4, fill="0"),
        m.as_string([True, False]),
        m.string_to_number(["1.5", "-2e3"]),
        m.string_to_number(["7"], m.int64),
        m.string_to_hash_bucket_fast(x, 1000),
        m.string_to_hash_bucket_strong(x, 1000, [1, 2]),
        m.decode_base64(m.encode_base64(x, pad=True)),
        m.encode_base64(x),
    ]


def raw(m):
    data = np.arange(6, dtype="<i2")
    return [
        m.decode_raw([data.tobytes(), data[::-1].tobytes()], m.int16),
        m.decode_raw(data.astype(">i2").tobytes(), m.int16, little_endian=False),
        m.parse_tensor(m.serialize_tensor(m.constant([[1.0, 2.0]])), m.float32),
        *m.decode_csv(["1,2.5,a", '3,,"b,c"'], [[0], [-1.0], [""]]),
        *m.decode_csv(["1|x|NA"], [[7], m.constant([5], m.int64)], "|", na_value="NA",
                      select_cols=[0, 2]),
    ]  # fmt: skip


def _example(m, **features):
    result = {}
    for key, value in features.items():
        if isinstance(value[0], bytes):
            result[key] = m.train.Feature(bytes_list=m.train.BytesList(value=value))
        elif isinstance(value[0], float):
            result[key] = m.train.Feature(float_list=m.train.FloatList(value=value))
        else:
            result[key] = m.train.Feature(int64_list=m.train.Int64List(value=value))
    return m.train.Example(features=m.train.Features(feature=result)).SerializeToString()


def examples(m):
    batch = [
        _example(m, x=[1.0, 2.0], n=[7], w=[b"a", b"b"], i=[2, 0], v=[0.5, 1.5], s=[1.0, 2.0, 3.0]),
        _example(m, x=[3.0, 4.0], w=[b"c"], i=[1], v=[2.5], s=[4.0]),
    ]
    features = {
        "x": m.FixedLenFeature([2], m.float32),
        "n": m.FixedLenFeature([], m.int64, default_value=-1),
        "w": m.VarLenFeature(m.string),
        "sparse": m.SparseFeature("i", "v", m.float32, 4),
        "s": m.FixedLenSequenceFeature([], m.float32, allow_missing=True, default_value=9.0),
    }
    got = m.parse_example(batch, features)
    one = m.io.parse_single_example(batch[0], {k: features[k] for k in ("x", "n", "w")})
    return [
        got["x"], got["n"], *_parts(got["w"]), *_parts(got["sparse"]), got["s"],
        one["x"], one["n"], *_parts(one["w"]),
    ]  # fmt: skip


def sequences(m):
    def values(*numbers):
        return m.train.Feature(int64_list=m.train.Int64List(value=numbers))

    lists = {
        "a": m.train.FeatureList(feature=[values(1, 2), values(3, 4)]),
        "b": m.train.FeatureList(feature=[values(5), values(), values(6, 7)]),
    }
    message = m.train.SequenceExample(
        context=m.train.Features(feature={"n": values(3)}),
        feature_lists=m.train.FeatureLists(feature_list=lists),
    )
    context, found = m.parse_single_sequence_example(
        message.SerializeToString(),
        {"n": m.FixedLenFeature([], m.int64)},
        {"a": m.FixedLenSequenceFeature([2], m.int64), "b": m.VarLenFeature(m.int64)},
    )
    return [context["n"], found["a"], *_parts(found["b"])]


def sequence_batches(m):
    train = m.train

    def feature(value):
        if value and isinstance(value[0], bytes):
            return train.Feature(bytes_list=train.BytesList(value=value))
        if value and isinstance(value[0], float):
            return train.Feature(float_list=train.FloatList(value=value))
        return train.Feature(int64_list=train.Int64List(value=value))

    def message(context, lists):
        return train.SequenceExample(
            context=train.Features(feature={k: feature(v) for k, v in context.items()}),
            feature_lists=train.FeatureLists(
                feature_list={
                    k: train.FeatureList(feature=[feature(step) for step in steps])
                    for k, steps in lists.items()
                }
            ),
        ).SerializeToString()

    batch = [
        message({"n": [3], "w": [b"a", b"b"]}, {"x": [[1.0, 2.0], [3.0, 4.0]], "t": [[1], [2, 3]]}),
        message({}, {"x": [], "s": [[b"q"]]}),
        message({"n": [-1], "w": [b""]}, {"x": [[5.0, 6.0]] * 3, "t": [[]], "s": []}),
    ]
    context, found, lengths = m.io.parse_sequence_example(
        batch,
        {"n": m.FixedLenFeature([], m.int64, 7), "w": m.VarLenFeature(m.string)},
        {
            "x": m.FixedLenSequenceFeature([2], m.float32),
            "s": m.FixedLenSequenceFeature([1], m.string, allow_missing=True),
            "t": m.VarLenFeature(m.int64),
        },
        example_names=["one", "two", "three"],
    )
    return [
        context["n"], *_parts(context["w"]), found["x"], found["s"], *_parts(found["t"]),
        lengths["x"], lengths["s"],
    ]  # fmt: skip


def csv(m):
    lines = ['1,"a ""quoted"", b",2.5,', "-3, x y ,1e-3,7", '4,"",-.5e2,0', "+5,\u00e9,inf,8"]
    return [
        *m.decode_csv(lines, [[0], ["d"], [0.5], m.constant([9], m.int64)]),
        *m.decode_csv([["a\tb", "c\td"]], [["x"], ["y"]], "\t", use_quote_delim=False),
        *m.decode_csv(["1,2,3,4", "5,,7,8"], [[0.0], [0]], select_cols=[1, 3]),
        *m.decode_csv(["12345678901234567890,1.17549435e-38,0.1,123456789.125"],
                      [m.constant([0], m.float64), m.constant([0.0]), m.constant([0], m.float64),
                       [0.0]]),
    ]  # fmt: skip


def checks(m):
    x = m.constant([1.0, 2.0, 4.0])
    held = [
        m.assert_equal(x, x), m.assert_less(x, 5.0), m.assert_greater_equal(x, 1.0),
        m.assert_none_equal(x, 3.0), m.assert_positive(x), m.assert_non_negative(x),
        m.assert_negative(-x), m.assert_near(x, x + 1e-7), m.assert_rank(x, 1),
        m.assert_rank_at_least(m.placeholder_with_default(x, None), 1), m.assert_integer([1]),
        m.assert_rank_in(m.placeholder_with_default(x, None), [0, 1]),
        m.debugging.assert_shapes([(x, ["n"]), (m.placeholder_with_default(x, [None]), ["n"])]),
        m.assert_type(x, m.float32),
    ]  # fmt: skip
    with m.control_dependencies(held):
        return [
            m.identity(x),
            m.check_numerics(x, "x"),
            m.verify_tensor_all_finite(x, "x"),
            m.is_non_decreasing(x),
            m.is_strictly_increasing([1, 1]),
            m.is_strictly_increasing(m.zeros([0])),
            m.assert_scalar(m.constant(3)),
            m.Print(x, [x], "x: ", 1),
        ]


PROGRAMS = {
    f.__name__: f
    for f in (strings, numbers, raw, examples, sequences, sequence_batches, csv, checks)
}  # fmt: skip
