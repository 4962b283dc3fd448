"""String ops: joining, splitting, regular expressions, conversion, hashing, Unicode."""

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

# ---- joining and splitting -----------------------------------------------------------------


def join(inputs: TensorLike, separator: str = "", name: str | None = None) -> Tensor:
    """Joins strings of several tensors of equal shape (or scalars), element-wise."""
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
    """Joins strings along axes, in the order of the axes; None joins all."""
    axis = reduction_indices if axis is None else axis
    keep = bool(keep_dims if keepdims is None else keepdims)
    x = convert_to_tensor(inputs)
    if axis is None:
        # the last axis first: row-major order
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
    """Splits strings at delimiter characters.

    Args:
      source: [n] string.
      sep: set of delimiter characters; " " if None; "" splits into bytes; delimiter: its old name.
      skip_empty: omit empty parts.
    Returns: SparseTensor [n, maximum number of parts].
    Raises: ValueError for another result_type.
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
    """Splits strings as Python's str.split does.

    Args:
      input: [n] string; source: its old name.
      sep: separator; None or "" splits at white space.
      maxsplit: maximum number of splits; -1 for no limit.
    Returns: SparseTensor [n, maximum number of parts].
    Raises: ValueError for another result_type.
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
            f"result_type must be 'SparseTensor', got {result_type!r}: ragged tensors are not "
            "implemented"
        )


def substr(
    input: TensorLike,  # noqa: A002 - TF's name
    pos: TensorLike,
    len: TensorLike,  # noqa: A002 - TF's name
    name: str | None = None,
    unit: str = "BYTE",
) -> Tensor:
    """Returns substrings.

    Args:
      pos: start; negative counts from the end.
      len: length.
      unit: "BYTE" or "UTF8_CHAR".
    """
    return op("Substr", input, pos, len, unit=unit, name=name)


def strip(input: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002 - TF's name
    """Strips white space at both ends."""
    return op("StringStrip", input, name=name)


def length(input: TensorLike, name: str | None = None, unit: str = "BYTE") -> Tensor:  # noqa: A002
    """Returns the length of each string. Args: unit: "BYTE" or "UTF8_CHAR"."""
    return op("StringLength", input, unit=unit, name=name)


def lower(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor:  # noqa: A002
    """Converts to lower case. Args: encoding: "" for ASCII only, or "utf-8"."""
    return op("StringLower", input, encoding=encoding, name=name)


def upper(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor:  # noqa: A002
    """Converts to upper case. Args: encoding: "" for ASCII only, or "utf-8"."""
    return op("StringUpper", input, encoding=encoding, name=name)


def format(  # noqa: A001 - TF's name
    template: str,
    inputs: TensorLike,
    placeholder: str = "{}",
    summarize: int | None = 3,
    name: str | None = None,
) -> Tensor:
    """Formats tensors by a template.

    Args:
      template: text with placeholders.
      inputs: tensor or list of tensors, one per placeholder.
      placeholder: text to replace.
      summarize: number of elements at each end of each dimension; -1 or None for all.
    Raises: ValueError if the numbers of placeholders and tensors differ.
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
    """Joins the strings of each segment; the segments may be unsorted."""
    return op(
        "UnsortedSegmentJoin", inputs, segment_ids, num_segments, separator=separator, name=name
    )


# ---- regular expressions -------------------------------------------------------------------


def regex_full_match(input: TensorLike, pattern: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns whether a regular expression matches the whole of each string."""
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
    r"""Replaces matches of a regular expression.

    Args:
      pattern: regular expression.
      rewrite: replacement, in which \1 to \9 refer to groups.
      replace_global: replace all matches instead of the first.
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
    """Converts numbers and bools to strings.

    Args:
      precision: digits after the decimal point.
      scientific: use scientific notation.
      shortest: use the shorter of scientific and plain notation.
      width: minimum number of characters.
      fill: padding character.
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
    """Parses strings as numbers. Args: out_type: float32, float64, int32 or int64."""
    x = string_tensor if input is None else input
    return op("StringToNumber", x, out_type=as_dtype(out_type), name=name)


def to_hash_bucket(
    string_tensor: TensorLike | None = None,
    num_buckets: int | None = None,
    name: str | None = None,
    input: TensorLike | None = None,  # noqa: A002 - TF's name
) -> Tensor:
    """Hashes strings to integers below num_buckets; the hash may change between versions."""
    x = string_tensor if input is None else input
    return op("StringToHashBucket", x, num_buckets=num_buckets, name=name)


def to_hash_bucket_fast(input: TensorLike, num_buckets: int, name: str | None = None) -> Tensor:  # noqa: A002
    """Hashes strings to integers below num_buckets, by a stable hash."""
    return op("StringToHashBucketFast", input, num_buckets=num_buckets, name=name)


def to_hash_bucket_strong(
    input: TensorLike,  # noqa: A002 - TF's name
    num_buckets: int,
    key: Sequence[int],
    name: str | None = None,
) -> Tensor:
    """Hashes strings to integers below num_buckets, by a keyed hash. Args: key: two ints."""
    return op("StringToHashBucketStrong", input, num_buckets=num_buckets, key=list(key), name=name)


def encode_base64(input: TensorLike, pad: bool = False, name: str | None = None) -> Tensor:  # noqa: A002
    """Encodes bytes as web-safe base64. Args: pad: pad with "="."""
    return op("EncodeBase64", input, pad=pad, name=name)


def decode_base64(input: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002 - TF's name
    """Decodes web-safe base64."""
    return op("DecodeBase64", input, name=name)


# ---- Unicode -------------------------------------------------------------------------------


def unicode_script(input: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002 - TF's name
    """Returns the script codes of code points. Args: input: int32."""
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
    """Converts strings to another encoding.

    Args:
      input_encoding: name of the encoding of the input.
      output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: handling of invalid input: "strict" fails, "replace" inserts replacement_char,
        "ignore" skips it.
      replacement_char: code point.
      replace_control_characters: also replace control characters.
    Raises: ValueError for another output_encoding.
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
        no_gradient(_op_type, "strings have no gradient")
