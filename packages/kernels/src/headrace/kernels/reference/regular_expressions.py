"""Regular expressions with RE2's rules, on Python's engine.

Texts are UTF-8; bytes that are none become lone surrogates, which no element of a pattern matches.
Source: github.com/google/re2/wiki/Syntax; RE2::GlobalReplace and RE2::Rewrite.
"""

from __future__ import annotations

import re
from functools import lru_cache

from headrace.formats.errors import InvalidArgumentError

_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[^:)]*[:)]|.", re.DOTALL)
_TRANSLATED = {r"\z": r"\Z", r"\C": r"(?s:.)", r"\pL": r"(?u:[^\W\d_])"}
_UNKNOWN = re.compile(r"\(\?(=|!|<=|<!|>|\()|\(\?P=|\\[1-9]")


@lru_cache(maxsize=256)
def compiled(pattern: bytes) -> re.Pattern[str]:
    """A pattern of RE2's syntax.

    Raises: InvalidArgumentError if RE2 or Python does not know the syntax.
    """
    shown = pattern.decode(errors="surrogateescape")
    try:
        parts = []
        several_lines = re.search(r"\(\?[a-z]*m", shown) is not None
        for token in _TOKEN.findall(shown.replace(r"\pL", "\0")):
            if _UNKNOWN.match(token):
                raise re.error(f"invalid perl operator or escape: {token}")
            if token == "$" and not several_lines:
                token = r"\Z"
            parts.append(_TRANSLATED.get(token, token).replace("\0", _TRANSLATED[r"\pL"]))
        return re.compile("".join(parts), re.ASCII)
    except (re.error, OverflowError) as error:
        text = pattern.decode(errors="replace")
        raise InvalidArgumentError(
            None, None, f"Invalid pattern: {text}, error: {error}"
        ) from error


def matches_fully(pattern: bytes, text: bytes) -> bool:
    """Whether the pattern matches all of a text."""
    expression = compiled(pattern)
    try:
        return expression.fullmatch(text.decode()) is not None
    except UnicodeDecodeError:
        return False


def replaced(pattern: bytes, rewrite: bytes, text: bytes, everywhere: bool) -> bytes:
    """The text with the first match, or all, rewritten; as it is if the rewrite names no group."""
    expression = compiled(pattern)
    groups = [int(digit) for digit in re.findall(rb"\\(\d)", rewrite)]
    if max(groups, default=0) > expression.groups:
        return text
    shown = text.decode(errors="surrogateescape")
    shape = rewrite.decode(errors="surrogateescape")
    result: list[str] = []
    at, last = 0, -1
    while at <= len(shown) and (match := expression.search(shown, at)):
        start, end = match.span()
        result.append(shown[at:start])
        if start == end == last:  # an empty match right behind another one
            result.append(shown[start : start + 1])
            at = start + 1
            last = -1
            continue
        piece, complete = _rewrite(shape, match)
        if not everywhere:
            return _encoded("".join([*result, piece, shown[end:]])) if complete else text
        result.append(piece)
        at = last = end
    result.append(shown[at:])
    return _encoded("".join(result))


def _rewrite(shape: str, match: re.Match[str]) -> tuple[str, bool]:
    """What a rewrite makes of a match, up to the first bad escape; whether there was none."""
    parts = []
    at = 0
    while at < len(shape):
        letter = shape[at]
        at += 1
        if letter != "\\":
            parts.append(letter)
            continue
        escaped = shape[at : at + 1]
        at += 1
        if escaped and escaped in "0123456789":
            parts.append(match[int(escaped)] or "")
        elif escaped == "\\":
            parts.append(escaped)
        else:
            return "".join(parts), False
    return "".join(parts), True


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
