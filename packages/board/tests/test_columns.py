"""The binary response format preserves its content exactly."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from fixtures.column_replies import DTYPES, decode
from hypothesis import given
from hypothesis import strategies as st

from headrace.board.web.columns import columns_as_json, encode_columns, smallest_dtype
from headrace.board.web.json_text import dump_json


@given(
    st.dictionaries(
        st.text(max_size=8),
        st.tuples(st.sampled_from(sorted(DTYPES)), st.lists(st.integers(0, 200), max_size=20)),
        max_size=6,
    )
)
def test_columns_come_back(drawn: dict[str, tuple[str, list[int]]]) -> None:
    sent = {name: np.array(values, DTYPES[dtype]) for name, (dtype, values) in drawn.items()}
    header, columns = decode(encode_columns({"rev": 7}, sent))
    assert header["rev"] == 7
    assert list(columns) == list(sent)
    for name, column in sent.items():
        assert columns[name].dtype == column.dtype
        np.testing.assert_array_equal(columns[name], column)


def test_strides_and_byte_order_do_not_matter() -> None:
    sent = {"a": np.arange(20)[::3], "b": np.arange(5, dtype=">f8")}
    _, columns = decode(encode_columns({}, sent))
    np.testing.assert_array_equal(columns["a"], sent["a"])
    np.testing.assert_array_equal(columns["b"], sent["b"])


@given(st.lists(st.integers(-(2**53), 2**53)))
def test_whole_numbers_stay_what_they_are_in_the_smallest_dtype(values: list[int]) -> None:
    result = smallest_dtype(np.array(values, np.int64))
    assert result.tolist() == values
    encode_columns({}, {"a": result})


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([], np.uint8),
        ([0, 255], np.uint8),
        ([256], np.uint16),
        ([2**16], np.uint32),
        ([2**32 - 1], np.uint32),
        ([2**32], np.float64),
        ([-1], np.float64),
    ],
)
def test_the_least_dtype_is_chosen(values: list[int], dtype: type) -> None:
    assert smallest_dtype(np.array(values, np.int64)).dtype == dtype


def test_a_dtype_without_a_name_is_rejected() -> None:
    with pytest.raises(TypeError, match="column a: the format has no complex128"):
        encode_columns({}, {"a": np.zeros(1, complex)})


def test_json_has_no_bare_nan() -> None:
    text = dump_json({"a": [math.nan, {"b": math.inf}, (-math.inf, 1.5)], "c": None})
    assert json.loads(text, parse_constant=lambda token: pytest.fail(token)) == {
        "a": ["NaN", {"b": "Infinity"}, ["-Infinity", 1.5]],
        "c": None,
    }
    columns = {"x": np.array([1.0, math.nan])}
    assert json.loads(columns_as_json({}, columns))["columns"] == {"x": [1.0, "NaN"]}


def test_text_cannot_end_a_script_or_leave_ascii() -> None:
    text = dump_json({"name": "\u2028</script>\u202e"})
    assert text.isascii()
    assert json.loads(text) == {"name": "\u2028</script>\u202e"}


def test_an_array_of_several_names_is_sent_once() -> None:
    column = np.arange(1000.0)
    once = encode_columns({}, {"a": column})
    reply = encode_columns({}, {"a": column, "b": column, "c": column + 1})
    _, columns = decode(reply)
    assert columns["b"].tolist() == columns["a"].tolist() != columns["c"].tolist()
    assert len(reply) < 2.5 * len(once)
