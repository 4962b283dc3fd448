"""Text: joined, split, searched, read as numbers, hashed, and its characters."""

from __future__ import annotations

import re
from collections.abc import Sequence

from headrace.formats import op_catalogue
from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import SparseTensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.op_registry import no_gradient
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.typing.aliases import DTypeLike, TensorLike

# ---- put together and taken apart ----------------------------------------------------------


def join(inputs: TensorLike, separator: str = "", name: str | None = None) -> Tensor:
    """The strings of several tensors of one shape (or scalars), joined element by element."""
    return op("StringJoin", inputs, separator=separator, name=name)


def reduce_join(
    inputs: TensorLike,
    axis: TensorLike | None = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The strings along axes joined, in the order of the axes; all of them where None."""
    axis = reduction_indices if axis is None else axis
    keep = bool(keep_dims if keepdims is None else keepdims)
    x = convert_to_tensor(inputs)
    if axis is None:
        # the last axis first, as reading goes
        ndims = x.get_shape().ndims
        axis = (
            list(range(ndims - 1, -1, -1))
            if ndims is not None
            else op("Sub", op("Sub", op("Rank", x), 1), op("Range", 0, op("Rank", x), 1))
        )
        if axis == []:
            axis = convert_to_tensor([], dtype="int32")
    return op("ReduceJoin", x, axis, keep_dims=keep, separator=separator, name=name)


def string_split(
    source: TensorLike,
    sep: TensorLike | None = None,
    skip_empty: bool = True,
    delimiter: TensorLike | None = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> SparseTensor:
    """The parts of each string between delimiters.

    Args:
      source: [n] string.
      sep, or delimiter: characters, each of which parts; " " where None; "" parts all bytes.
      skip_empty: leave out empty parts.
    Returns: SparseTensor [n, most parts].
    """
    _only_sparse(result_type)
    limit = delimiter if sep is None else sep
    with name_scope(name or "string_split"):
        x = convert_to_tensor(source, dtype="string")
        limit = convert_to_tensor(" " if limit is None else limit, dtype="string")
        return SparseTensor(*op("StringSplit", x, limit, skip_empty=skip_empty))


def split(
    input: TensorLike | None = None,  # noqa: A002 - TF's name
    sep: TensorLike | None = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: TensorLike | None = None,
    name: str | None = None,
) -> SparseTensor:
    """The parts of each string, as Python's str.split finds them.

    Args:
      input, or source: [n] string.
      sep: the one separator; runs of white space where None or "".
      maxsplit: no more than that many separators; -1: all.
    Returns: SparseTensor [n, most parts].
    """
    _only_sparse(result_type)
    with name_scope(name or "StringSplit"):
        x = convert_to_tensor(source if input is None else input, dtype="string", name="source")
        if x.get_shape().ndims == 0:
            x = op("ExpandDims", x, 0)
        limit = convert_to_tensor("" if sep is None else sep, dtype="string", name="sep")
        return SparseTensor(*op("StringSplitV2", x, limit, maxsplit=maxsplit))


def _only_sparse(result_type: str) -> None:
    if result_type != "SparseTensor":
        raise ValueError(
            f"result_type must be 'SparseTensor', got {result_type!r}: ragged tensors are not built"
        )


def substr(
    input: TensorLike,  # noqa: A002 - TF's name
    pos: TensorLike,
    len: TensorLike,  # noqa: A002 - TF's name
    name: str | None = None,
    unit: str = "BYTE",
) -> Tensor:
    """A part of each string.

    Args:
      pos: where it begins, from the end where negative; len: how much of it.
      unit: "BYTE" or "UTF8_CHAR".
    """
    return op("Substr", input, pos, len, unit=unit, name=name)


def strip(input: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002 - TF's name
    """Without white space at both ends."""
    return op("StringStrip", input, name=name)


def length(input: TensorLike, name: str | None = None, unit: str = "BYTE") -> Tensor:  # noqa: A002
    """How long each string is. Args: unit: "BYTE" or "UTF8_CHAR"."""
    return op("StringLength", input, unit=unit, name=name)


def lower(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor:  # noqa: A002
    """Upper-case letters made lower. Args: encoding: "" for ASCII only, or "utf-8"."""
    return op("StringLower", input, encoding=encoding, name=name)


def upper(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor:  # noqa: A002
    """Lower-case letters made upper. Args: encoding: "" for ASCII only, or "utf-8"."""
    return op("StringUpper", input, encoding=encoding, name=name)


def format(  # noqa: A001 - TF's name
    template: str,
    inputs: TensorLike,
    placeholder: str = "{}",
    summarize: int | None = 3,
    name: str | None = None,
) -> Tensor:
    """A text with tensors in the places of its placeholders.

    Args:
      inputs: a tensor or a list of them, one for each placeholder.
      summarize: elements at each end of each dimension; -1 (or None): all.
    Raises: ValueError where there are not as many.
    """
    tensors = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    if template.count(placeholder) != len(tensors):
        raise ValueError(
            f"{template.count(placeholder)} placeholder(s) in template does not match "
            f"{len(tensors)} tensor(s) provided as input"
        )
    return op(
        "StringFormat",
        tensors,
        template=template,
        placeholder=placeholder,
        summarize=-1 if summarize is None else summarize,
        name=name,
    )


def unsorted_segment_join(
    inputs: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike,
    separator: str = "",
    name: str | None = None,
) -> Tensor:
    """The strings of each segment joined, in any order of segments."""
    return op(
        "UnsortedSegmentJoin", inputs, segment_ids, num_segments, separator=separator, name=name
    )


# ---- patterns ------------------------------------------------------------------------------


def regex_full_match(input: TensorLike, pattern: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002
    """Whether a pattern matches the whole of each string."""
    if isinstance(pattern, str):
        return op("StaticRegexFullMatch", input, pattern=pattern, name=name)
    return op("RegexFullMatch", input, pattern, name=name)


def regex_replace(
    input: TensorLike,  # noqa: A002 - TF's name
    pattern: TensorLike,
    rewrite: TensorLike,
    replace_global: bool = True,
    name: str | None = None,
) -> Tensor:
    r"""What a pattern matches, rewritten.

    Args:
      pattern: a regular expression; rewrite: \1 to \9 stand for its groups.
      replace_global: all matches of each string, not only the first.
    """
    if isinstance(pattern, str) and isinstance(rewrite, str):
        return op(
            "StaticRegexReplace",
            input,
            pattern=pattern,
            rewrite=rewrite,
            replace_global=replace_global,
            name=name,
        )
    return op("RegexReplace", input, pattern, rewrite, replace_global=replace_global, name=name)


# ---- numbers and hashes --------------------------------------------------------------------


def as_string(
    input: TensorLike,  # noqa: A002 - TF's name
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Numbers and bools as text.

    Args:
      precision: digits after the point; scientific: as 1.5e+00; shortest: as short as may be.
      width: at least that many characters, filled up with `fill`.
    """
    return op(
        "AsString",
        input,
        precision=precision,
        scientific=scientific,
        shortest=shortest,
        width=width,
        fill=fill,
        name=name,
    )


def to_number(
    string_tensor: TensorLike | None = None,
    out_type: DTypeLike = "float32",
    name: str | None = None,
    input: TensorLike | None = None,  # noqa: A002 - TF's name
) -> Tensor:
    """Text as numbers. Args: out_type: float32, float64, int32 or int64."""
    x = string_tensor if input is None else input
    return op("StringToNumber", x, out_type=as_dtype(out_type), name=name)


def to_hash_bucket(
    string_tensor: TensorLike | None = None,
    num_buckets: int | None = None,
    name: str | None = None,
    input: TensorLike | None = None,  # noqa: A002 - TF's name
) -> Tensor:
    """An integer below num_buckets for each string; the hash may change between versions."""
    x = string_tensor if input is None else input
    return op("StringToHashBucket", x, num_buckets=num_buckets, name=name)


def to_hash_bucket_fast(input: TensorLike, num_buckets: int, name: str | None = None) -> Tensor:  # noqa: A002
    """An integer below num_buckets for each string, always the same."""
    return op("StringToHashBucketFast", input, num_buckets=num_buckets, name=name)


def to_hash_bucket_strong(
    input: TensorLike,  # noqa: A002 - TF's name
    num_buckets: int,
    key: Sequence[int],
    name: str | None = None,
) -> Tensor:
    """As to_hash_bucket_fast, hard to guess without the key. Args: key: two ints."""
    return op("StringToHashBucketStrong", input, num_buckets=num_buckets, key=list(key), name=name)


def encode_base64(input: TensorLike, pad: bool = False, name: str | None = None) -> Tensor:  # noqa: A002
    """Bytes as web-safe base 64. Args: pad: with "=" to whole groups."""
    return op("EncodeBase64", input, pad=pad, name=name)


def decode_base64(input: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002 - TF's name
    """The bytes that web-safe base 64 stands for."""
    return op("DecodeBase64", input, name=name)


# ---- characters ----------------------------------------------------------------------------


def unicode_script(input: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002 - TF's name
    """The number of the script that each character belongs to. Args: input: int32."""
    return op("UnicodeScript", input, name=name)


def unicode_transcode(
    input: TensorLike,  # noqa: A002 - TF's name
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    """Text in another encoding.

    Args:
      output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: "strict" fails, "replace" puts replacement_char, "ignore" leaves out.
    """
    if not re.fullmatch("UTF-8|UTF-16-BE|UTF-32-BE", output_encoding):
        raise ValueError(
            f"output_encoding must be UTF-8, UTF-16-BE or UTF-32-BE, got {output_encoding!r}"
        )
    return op(
        "UnicodeTranscode",
        input,
        input_encoding=input_encoding,
        output_encoding=output_encoding,
        errors=errors,
        replacement_char=replacement_char,
        replace_control_characters=replace_control_characters,
        name=name,
    )


for _op_type in op_catalogue.names():
    if op_catalogue.family(_op_type) == "strings":
        no_gradient(_op_type, "text has no gradient")
