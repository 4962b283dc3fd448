"""Arithmetic over tags: `a / b`, `log(a) - log(b)`; parsed here, never passed to eval."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

MAX_CHARACTERS = 1000
MAX_DEPTH = 50
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)|(?P<mark>[-+*/(),]))",
    re.ASCII,
)
_UNARY: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "exp": np.exp,
}
_ANY_NUMBER: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "min": np.minimum,
    "max": np.maximum,
}
_BINARY: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}


class ExpressionError(ValueError):
    """The text is not a valid expression; the message says where."""


@dataclass(frozen=True)
class Expression:
    """A parsed expression.

    Args:
      names: of the variables, in order of their first use.
      steps: the expression in postfix order: numbers, names, and (function, argument count).
    """

    names: tuple[str, ...]
    steps: tuple[float | str | tuple[str, int], ...]

    def value(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Returns the value at each point; 1 / 0 is infinite and log(-1) is NaN, without a warning.

        Args:
          variables: by name, all [n] float64.
        """
        stack: list[np.ndarray] = []
        with np.errstate(all="ignore"):
            for step in self.steps:
                if isinstance(step, str):
                    stack.append(variables[step])
                elif isinstance(step, tuple):
                    name, count = step
                    arguments = stack[-count:]
                    del stack[-count:]
                    stack.append(_apply(name, arguments))
                else:
                    stack.append(np.float64(step))
        n = len(next(iter(variables.values())))
        return np.broadcast_to(stack[0], (n,)).astype(np.float64, copy=False)


def _apply(name: str, arguments: list[np.ndarray]) -> np.ndarray:
    if name == "negative":
        return np.negative(arguments[0])
    if name in _UNARY:
        return _UNARY[name](arguments[0])
    function = _BINARY.get(name) or _ANY_NUMBER[name]
    result = arguments[0]
    for argument in arguments[1:]:
        result = function(result, argument)
    return result


def parse(text: str) -> Expression:
    """Parses an expression.

    Grammar: numbers; names; + - * / with the usual precedence; - and + as signs; parentheses;
    log log2 log10 abs sqrt exp of one argument, min and max of one or more.

    Raises: ExpressionError.
    """
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        if len(text) > MAX_CHARACTERS:
            raise ExpressionError(
                f"the expression has {len(text)} characters, more than {MAX_CHARACTERS}"
            )
        self._text = text
        self._tokens = list(self._tokenised())
        self._at = 0
        self._names: dict[str, None] = {}
        self._steps: list[float | str | tuple[str, int]] = []

    def _tokenised(self) -> list[tuple[str, str, int]]:
        tokens, at = [], 0
        end = len(self._text.rstrip())
        while at < end:
            match = _TOKEN.match(self._text, at)
            if match is None:
                raise ExpressionError(
                    f"the expression has {self._text[at:end].lstrip()[:1]!r} at character "
                    f"{at + 1}: only names, numbers, + - * / , ( ) may stand there"
                )
            kind = match.lastgroup or ""
            tokens.append((kind, match[kind], match.start(kind)))
            at = match.end()
        return tokens

    def whole(self) -> Expression:
        self._sum(0)
        if self._at < len(self._tokens):
            self._fail("an operator or the end")
        if not self._names:
            raise ExpressionError("the expression names no variable")
        return Expression(tuple(self._names), tuple(self._steps))

    def _peek(self) -> str:
        if self._at == len(self._tokens):
            return ""
        kind, text, _ = self._tokens[self._at]
        return text if kind == "mark" else kind

    def _fail(self, requested: str) -> NoReturn:
        if self._at == len(self._tokens):
            raise ExpressionError(f"the expression ends where {requested} should be")
        _, text, at = self._tokens[self._at]
        raise ExpressionError(
            f"the expression has {text[:40]!r} at character {at + 1}, where {requested} should be"
        )

    def _sum(self, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise ExpressionError(f"the expression is nested deeper than {MAX_DEPTH}")
        self._product(depth)
        while self._peek() in ("+", "-"):
            mark = self._peek()
            self._at += 1
            self._product(depth)
            self._steps.append((mark, 2))

    def _product(self, depth: int) -> None:
        self._factor(depth)
        while self._peek() in ("*", "/"):
            mark = self._peek()
            self._at += 1
            self._factor(depth)
            self._steps.append((mark, 2))

    def _factor(self, depth: int) -> None:
        negative = False
        while self._peek() in ("+", "-"):
            negative ^= self._peek() == "-"
            self._at += 1
        self._atom(depth)
        if negative:
            self._steps.append(("negative", 1))

    def _atom(self, depth: int) -> None:
        kind = self._peek()
        if kind == "(":
            self._at += 1
            self._sum(depth + 1)
            self._expect(")")
        elif kind == "number":
            self._steps.append(float(self._tokens[self._at][1]))
            self._at += 1
        elif kind == "name":
            name = self._tokens[self._at][1]
            self._at += 1
            if self._peek() == "(":
                self._call(name, depth)
            else:
                self._names.setdefault(name)
                self._steps.append(name)
        else:
            self._fail("a name, a number or (")

    def _call(self, name: str, depth: int) -> None:
        if name not in _UNARY and name not in _ANY_NUMBER:
            known = " ".join([*_UNARY, *_ANY_NUMBER])
            raise ExpressionError(f"the expression calls {name[:40]!r}: there are only {known}")
        self._at += 1
        self._sum(depth + 1)
        count = 1
        while self._peek() == "," and name in _ANY_NUMBER:
            self._at += 1
            self._sum(depth + 1)
            count += 1
        self._expect(")")
        self._steps.append((name, count))

    def _expect(self, mark: str) -> None:
        if self._peek() != mark:
            self._fail(mark)
        self._at += 1
