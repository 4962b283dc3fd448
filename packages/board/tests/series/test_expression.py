from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.board.series.expression import ExpressionError, parse

A, B = np.array([1.0, -2.0, 0.0, np.nan]), np.array([4.0, 0.5, 0.0, 1.0])
CASES = {
    "a": A,
    "a / b": A / np.where(B == 0, np.nan, B),
    "a - b - 1": A - B - 1,
    "a * -b + +2": A * -B + 2,
    "2 * (a + b) / 4e0": (A + B) / 2,
    "-a - -b": -A + B,
    "log(b) - log10(b) + log2(b)": np.log(np.where(B == 0, np.nan, B)) * (1 - 1 / np.log(10))
    + np.log(np.where(B == 0, np.nan, B)) / np.log(2),
    "abs(a) + sqrt(b) * exp(a)": np.abs(A) + np.sqrt(B) * np.exp(A),
    "min(a, b, .5)": np.minimum(np.minimum(A, B), 0.5),
    "max(a)": A,
    "0 * a + 3.": 0 * A + 3,
}


@pytest.mark.parametrize("text", CASES)
def test_expressions_agree_with_numpy(text: str) -> None:
    got = parse(text).value({"a": A, "b": B})
    expected = CASES[text]
    there = np.isfinite(expected)
    np.testing.assert_allclose(got[there], expected[there], rtol=1e-15)
    assert not np.isfinite(got[~there]).any()


def test_a_division_by_zero_is_infinite_and_silent() -> None:
    got = parse("1 / a").value({"a": np.array([0.0, -0.0, 2.0])})
    assert got.tolist() == [np.inf, -np.inf, 0.5]


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "ends where a name"),
        ("1 + 2", "names no variable"),
        ("a b", "has 'b' at character 3, where an operator or the end should be"),
        ("a +", "ends where a name, a number or ( should be"),
        ("(a", "ends where ) should be"),
        ("a ** b", "has '*' at character 4"),
        ("a; b", "has ';' at character 2: only names"),
        ("__import__(os)", "calls '__import__'"),
        ("f('x')", 'has "\'" at character 3'),
        ("eval(a)", "calls 'eval': there are only log log2"),
        ("a.b", "has '.' at character 2"),
        ("log(a, b)", "has ',' at character 6, where ) should be"),
        ("a" * 1001, "has 1001 characters"),
        ("(" * 60 + "a" + ")" * 60, "nested deeper than 50"),
    ],
)
def test_an_invalid_expression_is_reported_with_its_position(text: str, message: str) -> None:
    with pytest.raises(ExpressionError) as error:
        parse(text)
    assert message in str(error.value)


@given(st.text(alphabet="ab1.+-*/(),logmin e", max_size=30) | st.text(max_size=20))
def test_any_text_is_an_expression_or_a_sentence_about_it(text: str) -> None:
    try:
        expression = parse(text)
    except ExpressionError as error:
        assert "expression" in str(error)
        return
    variables = {name: np.array([1.5, -2.0]) for name in expression.names}
    assert expression.value(variables).shape == (2,)
