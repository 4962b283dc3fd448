"""Summary ops: `hr.summary.scalar`, `histogram`, `image`, ..."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from headrace.formats.dtypes import as_dtype, uint8
from headrace.formats.dtypes import string as string_dtype
from headrace.formats.tensor_codec import make_tensor_proto
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.op_registry import no_gradient
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.typing.aliases import Collections, Proto, TensorLike

_NOT_IN_A_TAG = re.compile(r"[^-/\w\.]")


def _clean(name: str | None) -> str | None:
    """Replaces characters that operation names must not contain by "_"."""
    return name if name is None else _NOT_IN_A_TAG.sub("_", name).lstrip("/")


@contextmanager
def _scope(
    name: str, family: str | None, values: list[Any], default_name: str | None = None
) -> Iterator[tuple[str, str]]:
    """Yields the tag and the name of the operation; both include the name scope, as in TF 1.x."""
    clean, family = _clean(name), _clean(family)
    with name_scope(f"{family}/{clean}" if family else clean, default_name, values) as scope:
        tag = scope.rstrip("/")
        yield (f"{family}/{tag}" if family else tag), scope


def _collect(value: Tensor, collections: Any) -> Tensor:
    keys = [GraphKeys.SUMMARIES] if collections is None else collections
    for key in keys:
        get_default_graph().add_to_collection(key, value)
    return value


def scalar(
    name: str, tensor: TensorLike, collections: Collections | None = None, family: str | None = None
) -> Tensor:
    """Creates a Summary with one number.

    Args:
      name: the tag, without the name scope.
      tensor: real scalar.
      collections: keys of the collections for the summary; SUMMARIES by default.
      family: prefix of the tag; the board groups the summaries of a family.
    Returns: [] string, a serialized Summary.
    """
    with _scope(name, family, [tensor]) as (tag, scope):
        return _collect(op("ScalarSummary", tag, tensor, name=scope), collections)


def histogram(
    name: str, values: TensorLike, collections: Collections | None = None, family: str | None = None
) -> Tensor:
    """Creates a Summary with the histogram of a tensor.

    Args:
      name: as in `scalar`.
      values: real numbers of any shape; NaN and infinity fail the step.
    Returns: [] string, a serialized Summary.
    """
    with _scope(name, family, [values], "HistogramSummary") as (tag, scope):
        return _collect(op("HistogramSummary", tag, values, name=scope), collections)


def image(
    name: str,
    tensor: TensorLike,
    max_outputs: int = 3,
    collections: Collections | None = None,
    family: str | None = None,
) -> Tensor:
    """Creates a Summary with images, tagged NAME/image, or NAME/image/0, ... for several.

    Args:
      name: as in `scalar`.
      tensor: [batch, height, width, channels] uint8 or float; 1, 3 or 4 channels.
      max_outputs: maximum number of images.
    Returns: [] string, a serialized Summary.
    """
    with _scope(name, family, [tensor]) as (tag, scope):
        # the colour of non-finite pixels
        red = make_tensor_proto(np.array([255, 0, 0, 255], np.uint8), uint8)
        result = op("ImageSummary", tag, tensor, max_images=max_outputs, bad_color=red, name=scope)
        return _collect(result, collections)


def audio(
    name: str,
    tensor: TensorLike,
    sample_rate: TensorLike,
    max_outputs: int = 3,
    collections: Collections | None = None,
    family: str | None = None,
) -> Tensor:
    """Creates a Summary with audio clips, tagged like images.

    Args:
      name: as in `scalar`.
      tensor: [batch, frames, channels] or [batch, frames] float, between -1 and 1.
      sample_rate: frames per second.
      max_outputs: maximum number of clips.
    Returns: [] string, a serialized Summary.
    """
    with _scope(name, family, [tensor]) as (tag, scope):
        rate = convert_to_tensor(sample_rate, dtype=as_dtype("float32"), name="sample_rate")
        result = op("AudioSummaryV2", tag, tensor, rate, max_outputs=max_outputs, name=scope)
        return _collect(result, collections)


def tensor_summary(
    name: str,
    tensor: TensorLike,
    summary_description: str | None = None,
    collections: Collections | None = None,
    summary_metadata: Proto | None = None,
    family: str | None = None,
    display_name: str | None = None,
) -> Tensor:
    """Creates a Summary with a tensor.

    Args:
      name: as in `scalar`.
      tensor: [...] any dtype.
      summary_description, display_name: texts that the board shows.
      summary_metadata: SummaryMetadata with the plugin of the board.
    Returns: [] string, a serialized Summary.
    """
    from headrace.formats.proto.summary_pb2 import SummaryMetadata

    metadata = SummaryMetadata()
    if summary_metadata is not None:
        metadata.CopyFrom(summary_metadata)
    if summary_description is not None:
        metadata.summary_description = summary_description
    if display_name is not None:
        metadata.display_name = display_name
    with _scope(name, family, [tensor]) as (tag, scope):
        result = op("TensorSummaryV2", tag, tensor, metadata.SerializeToString(), name=scope)
        return _collect(result, collections)


def text(name: str, tensor: TensorLike, collections: Collections | None = None) -> Tensor:
    """Creates a Summary with text for the text panel of the board.

    Args:
      name: as in `scalar`.
      tensor: strings.
    Returns: [] string, a serialized Summary.
    Raises: ValueError if tensor is not a string tensor.
    """
    from headrace.formats.proto.summary_pb2 import SummaryMetadata

    tensor = convert_to_tensor(tensor)
    if tensor.dtype.base_dtype != string_dtype:
        raise ValueError(
            f"Expected tensor {tensor.name} to have dtype string, got {tensor.dtype.name}"
        )
    metadata = SummaryMetadata()
    metadata.plugin_data.plugin_name = "text"
    metadata.plugin_data.content = b""
    return tensor_summary(name, tensor, collections=collections, summary_metadata=metadata)


def merge(
    inputs: Iterable[TensorLike], collections: Collections | None = None, name: str | None = None
) -> Tensor:
    """Merges summaries; a repeated tag fails the step.

    Args:
      inputs: serialized summaries.
      collections: keys of the collections for the result; none by default.
    Returns: [] string, a serialized Summary.
    """
    clean = _clean(name)
    with name_scope(clean, "Merge", list(inputs)):
        result = op("MergeSummary", list(inputs), name=clean)
    return _collect(result, [] if collections is None else collections)


def merge_all(
    key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None
) -> Tensor | None:
    """Merges the summaries of a collection; returns None if there are none.

    Args:
      key: key of the collection.
      scope: regular expression for names of summaries.
    """
    found = get_default_graph().get_collection(key, scope=scope)
    return merge(found, name=name) if found else None


for _kind in (
    "ScalarSummary HistogramSummary ImageSummary AudioSummary AudioSummaryV2 TensorSummary "
    "TensorSummaryV2 MergeSummary"
).split():
    no_gradient(_kind, "a summary is a message, not a number")
