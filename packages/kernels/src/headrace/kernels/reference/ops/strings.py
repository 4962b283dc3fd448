"""Strings of bytes: cut, joined, matched, hashed, decoded."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference import string_hashes
from headrace.kernels.reference.ops.reduction import reduction_axes
from headrace.kernels.reference.precision import numpy_type
from headrace.kernels.reference.registry import Attrs, kernel
from headrace.kernels.reference.regular_expressions import compiled, matches_fully, replaced
from headrace.kernels.reference.tensor_text import encoded, summary_of
from headrace.kernels.reference.unicode_scripts import scripts_of


def _mapped(function: Callable[..., Any], *inputs: np.ndarray, dtype: Any = object) -> np.ndarray:
    """`function` of each element of inputs that broadcast."""
    arrays = np.broadcast_arrays(*inputs)
    result = np.empty(arrays[0].shape, dtype)
    for place in np.ndindex(result.shape):
        result[place] = function(*[a[place] for a in arrays])
    return result


def _of_list(values: Iterable[bytes]) -> np.ndarray:
    held = list(values)
    result = np.empty(len(held), object)
    result[:] = held
    return result


def _invalid(text: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, text)


# ---- numbers ----


@kernel("AsString")
def as_string(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    width, precision = attrs["width"], attrs["precision"]
    for name in ("width", "precision"):
        if not -(2**31) <= attrs[name] < 2**31:
            raise _invalid(f"Attr {name} has value {attrs[name]} out of range for an int32")
    if len(attrs["fill"]) > 1:
        raise _invalid(f"Fill string must be one or fewer characters: {attrs['fill']!r}")
    if attrs["fill"] not in (b"", b" ", b"-", b"0", b"+"):
        raise _invalid(f"Fill argument not supported: {attrs['fill']!r}")
    if attrs["scientific"] and attrs["shortest"]:
        raise _invalid("Cannot select both scientific and shortest notation")
    fill = attrs["fill"].decode()
    kind = "e" if attrs["scientific"] else "g" if attrs["shortest"] else "f"
    digits = f".{precision}" if precision > -1 else ""
    size = str(width) if width > -1 else ""
    as_float = f"%{fill}{size}{digits}{kind}"
    without_zeros = as_float if fill != "0" else f"%{size}{digits}{kind}"  # of NaN and infinity

    name = "string" if x.dtype.kind == "O" else str(x.dtype)
    if x.dtype.kind not in "fcV":
        if x.dtype.kind != "O" and (attrs["scientific"] or attrs["shortest"]):
            raise _invalid(f"scientific and shortest format not supported for datatype {name}")
        if x.dtype.kind != "O" and precision > -1:
            raise _invalid(f"precision not supported for datatype {name}")

    def text(value: Any) -> bytes:
        if isinstance(value, bytes):
            wide_enough = value.ljust if fill == "-" else value.rjust
            return wide_enough(max(width, 0))
        if x.dtype.kind == "b":
            return b"true" if value else b"false"
        if x.dtype.kind in "iu":
            return (f"%{fill}{size}d" % int(value)).encode()
        if x.dtype.kind == "c":
            return f"({as_float % value.real},{as_float % value.imag})".encode()
        return ((as_float if np.isfinite(value) else without_zeros) % float(value)).encode()

    return _mapped(text, x)


@kernel("StringToNumber")
def string_to_number(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    dtype = numpy_type(attrs["out_type"])
    return _mapped(lambda text: parsed_number(text, dtype), x, dtype=dtype)


def parsed_number(text: bytes, dtype: np.dtype) -> Any:
    """The number that a text says.

    Raises: InvalidArgumentError for a text that says none, or one that dtype does not hold.
    """
    sizes = text.strip(b" \t\n\v\f\r")
    try:
        if b"_" in sizes:
            raise ValueError
        if dtype.kind == "f":
            return dtype.type(
                float.fromhex(sizes.decode()) if b"x" in sizes.lower() else float(sizes)
            )
        number = int(sizes)
        ends = np.iinfo(dtype)
        if not ends.min <= number <= ends.max:
            raise ValueError
        return dtype.type(number)
    except ValueError:
        raise _invalid(
            f"StringToNumberOp could not correctly convert string: {text.decode(errors='replace')}"
        ) from None


# ---- one string at a time ----


@kernel("StringLength")
def string_length(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    if attrs["unit"] == b"UTF8_CHAR":
        return _mapped(lambda text: len(_starts(text)), x, dtype=np.int32)
    return _mapped(len, x, dtype=np.int32)


def _starts(text: bytes) -> list[int]:
    """Where each character of UTF-8 begins: at every byte that goes on with none."""
    return [place for place, byte in enumerate(text) if byte & 0xC0 != 0x80]


def _cased(attrs: Attrs, x: np.ndarray, how: str) -> np.ndarray:
    encoding = attrs["encoding"].decode().lower()
    if encoding not in ("", "utf-8"):
        raise _invalid(f"encoding must be '' or 'utf-8', it is {encoding!r}")
    if encoding:
        # A string ends at a zero byte there, as C's do.
        return _mapped(
            lambda text: getattr(text.partition(b"\0")[0].decode(errors="replace"), how)().encode(),
            x,
        )
    return _mapped(lambda text: getattr(text, how)(), x)  # bytes: ASCII letters alone


@kernel("StringLower")
def string_lower(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return _cased(attrs, x, "lower")


@kernel("StringUpper")
def string_upper(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return _cased(attrs, x, "upper")


@kernel("StringStrip")
def string_strip(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return _mapped(lambda text: text.strip(b" \t\n\v\f\r"), x)


@kernel("Substr")
def substr(attrs: Attrs, x: np.ndarray, pos: np.ndarray, length: np.ndarray) -> np.ndarray:
    by_character = attrs["unit"] == b"UTF8_CHAR"

    def cut(text: bytes, at: int, count: int) -> bytes:
        starts = [*_starts(text), len(text)] if by_character else range(len(text) + 1)
        size = len(starts) - 1
        if not -size <= at <= size:
            raise _invalid(f"pos {at} out of range for string {text!r}")
        if count < 0:
            raise _invalid(f"len must not be negative, it is {count}")
        first = at if at >= 0 else size + at
        return text[starts[first] : starts[min(first + count, size)]]

    if pos.shape != length.shape:
        raise _invalid(f"pos and len shapes must match: {list(pos.shape)} vs. {list(length.shape)}")
    if pos.ndim > x.ndim:
        raise _invalid(f"pos {list(pos.shape)} must not have more dimensions than {list(x.shape)}")
    return _mapped(cut, x, pos, length)


@kernel("DecodeBase64")
def decode_base64(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    def decoded(text: bytes) -> bytes:
        try:
            if re.search(rb"[^A-Za-z0-9_=-]", text):
                raise binascii.Error
            return base64.urlsafe_b64decode(
                text.rstrip(b"=") + b"=" * (-len(text.rstrip(b"=")) % 4)
            )
        except binascii.Error:
            raise _invalid("Invalid character found in base64.") from None

    return _mapped(decoded, x)


@kernel("EncodeBase64")
def encode_base64(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    def encoded(text: bytes) -> bytes:
        padded = base64.urlsafe_b64encode(text)
        return padded if attrs["pad"] else padded.rstrip(b"=")

    return _mapped(encoded, x)


# ---- hashes ----


@kernel("StringToHashBucket")
def string_to_hash_bucket(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return _buckets(attrs, string_hashes.hash64, x)


@kernel("StringToHashBucketFast")
def string_to_hash_bucket_fast(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return _buckets(attrs, string_hashes.fingerprint64, x)


@kernel("StringToHashBucketStrong")
def string_to_hash_bucket_strong(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    if len(attrs["key"]) != 2:
        raise _invalid(f"Key must have 2 elements, it has {len(attrs['key'])}")
    first, second = attrs["key"]
    return _buckets(attrs, lambda text: string_hashes.siphash24((first, second), text), x)


def _buckets(attrs: Attrs, of: Callable[[bytes], int], x: np.ndarray) -> np.ndarray:
    return _mapped(lambda text: of(text) % attrs["num_buckets"], x, dtype=np.int64)


# ---- regular expressions: regular_expressions.py ----


@kernel("RegexFullMatch")
def regex_full_match(attrs: Attrs, x: np.ndarray, pattern: np.ndarray) -> np.ndarray:
    compiled(pattern.item())
    return _mapped(lambda text: matches_fully(pattern.item(), text), x, dtype=np.bool_)


@kernel("StaticRegexFullMatch")
def static_regex_full_match(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    compiled(attrs["pattern"])
    return _mapped(lambda text: matches_fully(attrs["pattern"], text), x, dtype=np.bool_)


@kernel("RegexReplace")
def regex_replace(
    attrs: Attrs, x: np.ndarray, pattern: np.ndarray, rewrite: np.ndarray
) -> np.ndarray:
    everywhere = attrs["replace_global"]
    compiled(pattern.item())
    return _mapped(lambda t: replaced(pattern.item(), rewrite.item(), t, everywhere), x)


@kernel("StaticRegexReplace")
def static_regex_replace(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    pattern, rewrite, everywhere = attrs["pattern"], attrs["rewrite"], attrs["replace_global"]
    compiled(pattern)
    return _mapped(lambda text: replaced(pattern, rewrite, text, everywhere), x)


@kernel("UnicodeScript")
def unicode_script(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return scripts_of(x)


# ---- several strings ----


@kernel("StringJoin")
def string_join(attrs: Attrs, *inputs: np.ndarray) -> np.ndarray:
    if not inputs:
        return np.array(b"", object)
    shapes = {x.shape for x in inputs if x.ndim}
    if len(shapes) > 1:
        raise ValueError(f"shapes differ: {sorted(shapes)}")
    return _mapped(lambda *texts: attrs["separator"].join(texts), *inputs)


@kernel("ReduceJoin")
def reduce_join(attrs: Attrs, x: np.ndarray, axes: np.ndarray) -> np.ndarray:
    gone = [axis % x.ndim for axis in axes.ravel().tolist()]
    reduction_axes(axes, x.ndim)
    kept = [axis for axis in range(x.ndim) if axis not in gone]
    rows = x.transpose([*kept, *reversed(gone)]).reshape([x.shape[a] for a in kept] + [-1])
    joined = np.empty(rows.shape[:-1], object)
    for place in np.ndindex(joined.shape):
        joined[place] = attrs["separator"].join(rows[place].tolist())
    if attrs["keep_dims"]:
        return joined.reshape([1 if a in gone else n for a, n in enumerate(x.shape)])
    return joined


@kernel("StringFormat")
def string_format(attrs: Attrs, *inputs: np.ndarray) -> np.ndarray:
    pieces = attrs["template"].split(attrs["placeholder"])
    if len(pieces) != len(inputs) + 1:
        raise _invalid(
            f"num placeholders in template and num inputs must match: {len(pieces) - 1} vs. "
            f"{len(inputs)}"
        )
    sizes = [encoded(summary_of(x, attrs["summarize"])) for x in inputs]
    text = b"".join(p + s for p, s in zip(pieces, [*sizes, b""], strict=True))
    return np.array(text, object)


def _ragged(rows: list[list[bytes]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    indices = [(row, place) for row, words in enumerate(rows) for place in range(len(words))]
    return (
        np.array(indices, np.int64).reshape(-1, 2),
        _of_list(word for words in rows for word in words),
        np.array([len(rows), max((len(words) for words in rows), default=0)], np.int64),
    )


@kernel("StringSplit")
def string_split(
    attrs: Attrs, x: np.ndarray, delimiter: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each byte of the delimiter is one; an empty delimiter splits into bytes."""
    letters = delimiter.item()
    rows = []
    for text in x.ravel().tolist():
        if letters:
            words = re.split(b"[" + re.escape(letters) + b"]", text)
        else:
            words = [text[i : i + 1] for i in range(len(text))]
        if attrs["skip_empty"] or not text:
            words = [word for word in words if word]
        rows.append(words)
    return _ragged(rows)


@kernel("StringSplitV2")
def string_split_v2(
    attrs: Attrs, x: np.ndarray, separator: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    sizes, most = separator.item(), attrs["maxsplit"]
    rows = [text.split(sizes or None, most) for text in x.ravel().tolist()]
    return _ragged(rows)


@kernel("StringNGrams")
def string_ngrams(
    attrs: Attrs, data: np.ndarray, splits: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    _check_splits(data, splits, "split")
    if any(width < 1 for width in attrs["ngram_widths"]):
        raise _invalid("ngram_widths must contain positive values")
    if not splits.size:
        return _of_list([]), splits
    grams: list[bytes] = []
    ends = [0]
    for start, stop in zip(splits[:-1].tolist(), splits[1:].tolist(), strict=True):
        words = data[start:stop].tolist()
        found: list[bytes] = []
        for width in attrs["ngram_widths"]:
            found += _ngrams(attrs, words, width)
        if not found and attrs["preserve_short_sequences"] and words:
            side = attrs["pad_width"] if attrs["pad_width"] >= 0 else 0
            padded = [attrs["left_pad"]] * side + words + [attrs["right_pad"]] * side
            found = [attrs["separator"].join(padded)]
        grams += found
        ends.append(len(grams))
    return _of_list(grams), np.array(ends, splits.dtype)


def _check_splits(values: np.ndarray, splits: np.ndarray, name: str) -> None:
    ends = splits.tolist()
    if ends and ends[0] != 0:
        raise _invalid(f"First {name} value must be zero, it is {ends[0]}")
    for before, after in zip(ends, ends[1:], strict=False):
        if not before <= after <= len(values):
            raise _invalid(
                f"Values in {name}s must be in ascending order, up to {len(values)}: "
                f"{before}, {after}"
            )
    if ends and ends[-1] != len(values):
        raise _invalid(f"Last {name} value must be {len(values)}, it is {ends[-1]}")


def _ngrams(attrs: Attrs, words: list[bytes], width: int) -> list[bytes]:
    side = width - 1 if attrs["pad_width"] < 0 else min(attrs["pad_width"], width - 1)
    padded = [attrs["left_pad"]] * side + words + [attrs["right_pad"]] * side
    count = len(padded) - width + 1
    result = []
    for i in range(count):
        result.append(attrs["separator"].join(padded[i : i + width]))
    return result


# ---- Unicode ----

_CODECS = {b"UTF-8": "utf-8", b"UTF-16-BE": "utf-16-be", b"UTF-32-BE": "utf-32-be"}


def _codec(attrs: Attrs) -> str:
    """Python's name of the encoding of the input."""
    encoding_name = attrs["input_encoding"]
    try:
        return _CODECS.get(encoding_name) or codecs.lookup(encoding_name.decode()).name
    except (LookupError, ValueError):
        shown = encoding_name.decode(errors="replace")
        raise _invalid(f"Could not create converter for input encoding: {shown}") from None


def _characters(attrs: Attrs, text: bytes) -> list[tuple[int, int]]:
    """Each character's code and the byte at which it begins."""
    codec = _codec(attrs)
    found: list[tuple[int, int]] = []
    place = 0
    while place < len(text):
        try:
            whole = text[place:].decode(codec)
            good, bad = len(text) - place, 0
        except UnicodeDecodeError as error:
            good, bad = error.start, error.end - error.start
            whole = text[place : place + good].decode(codec)
        for letter in whole:
            found.append((ord(letter), place))
            place += len(letter.encode(codec))
        if bad:
            if attrs["errors"] == b"strict":
                raise _invalid("Invalid formatting on input string")
            if attrs["errors"] == b"replace":
                found.append((attrs["replacement_char"], place))
            place += bad
    if attrs["replace_control_characters"]:
        shown = attrs["replacement_char"]
        if attrs["errors"] == b"ignore":
            return [(code, at) for code, at in found if code >= 0x20]
        return [(code if code >= 0x20 else shown, at) for code, at in found]
    return found


@kernel("UnicodeDecode")
def unicode_decode(attrs: Attrs, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return unicode_decode_with_offsets(attrs, x)[:2]


@kernel("UnicodeDecodeWithOffsets")
def unicode_decode_with_offsets(
    attrs: Attrs, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if not 0 <= attrs["replacement_char"] <= 0x10FFFF:
        raise _invalid("replacement_char out of unicode codepoint range")
    _codec(attrs)  # rejected even where there is no text
    rows = [_characters(attrs, text) for text in x.ravel().tolist()]
    ends = np.cumsum([0, *[len(row) for row in rows]])
    codes = np.array([code for row in rows for code, _ in row], np.int32)
    starts = np.array([at for row in rows for _, at in row], np.int64)
    return ends.astype(numpy_type(attrs["Tsplits"])), codes, starts


def _encoded(attrs: Attrs, codes: Iterable[int]) -> bytes:
    letters = []
    for code in codes:
        if 0 <= code <= 0x10FFFF and not 0xD800 <= code < 0xE000:
            letters.append(chr(code))
        elif attrs["errors"] == b"strict":
            raise _invalid("Code point is out of range for Unicode, or a noncharacter.")
        elif attrs["errors"] == b"replace":
            letters.append(chr(attrs["replacement_char"]))
    return "".join(letters).encode(_CODECS[attrs["output_encoding"]])


@kernel("UnicodeEncode")
def unicode_encode(attrs: Attrs, values: np.ndarray, splits: np.ndarray) -> np.ndarray:
    _check_splits(values, splits, "input_split")
    bounds = zip(splits[:-1].tolist(), splits[1:].tolist(), strict=True)
    return _of_list(_encoded(attrs, values[start:stop].tolist()) for start, stop in bounds)


@kernel("UnicodeTranscode")
def unicode_transcode(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    _codec(attrs)
    return _mapped(lambda text: _encoded(attrs, [c for c, _ in _characters(attrs, text)]), x)
