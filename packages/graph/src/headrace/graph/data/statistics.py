"""Transformations that measure a pipeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.data.dataset_node import DatasetNode
from headrace.graph.data.order import unchanged
from headrace.graph.data.stats_aggregator import StatsAggregator

Transformation = Callable[[Any], Any]


def set_stats_aggregator(
    stats_aggregator: StatsAggregator, prefix: str = "", counter_prefix: str = ""
) -> Transformation:
    """Returns a transformation that connects a dataset with an aggregator.

    Args:
      prefix: stands before the tags, with "::" between.
      counter_prefix: stands before the names of counters, of which there are none here.
    """

    def apply(dataset: DatasetNode) -> Any:
        return with_aggregator(dataset, stats_aggregator, prefix, counter_prefix)

    return apply


def with_aggregator(dataset: DatasetNode, aggregator: Any, prefix: str, counter_prefix: str) -> Any:
    """Returns a dataset that is connected with an aggregator."""
    resource = aggregator._resource
    return unchanged("SetStatsAggregatorDataset", dataset, resource, prefix, counter_prefix)


def bytes_produced_stats(tag: str) -> Transformation:
    """Returns a transformation that measures the size of each element, in bytes, as a histogram."""
    return _measured("BytesProducedStatsDataset", tag)


def latency_stats(tag: str) -> Transformation:
    """Returns a transformation that measures how long each element takes, in microseconds."""
    return _measured("LatencyStatsDataset", tag)


def _measured(op_type: str, tag: str) -> Transformation:
    def apply(dataset: DatasetNode) -> Any:
        return unchanged(op_type, dataset, convert_to_tensor(tag, dtype=as_dtype("string")))

    return apply
