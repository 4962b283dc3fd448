"""What collects the statistics of pipelines."""

from __future__ import annotations

from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor


class StatsAggregator:
    """Collects what the stages of a pipeline measure.

    `options.experimental_stats.aggregator` connects it with a dataset. It belongs to the whole
    pipeline of an iterator.

    >>> import headrace.graph as hr
    >>> aggregator = hr.data.experimental.StatsAggregator()
    >>> options = hr.data.Options()
    >>> options.experimental_stats.aggregator = aggregator
    >>> measured = hr.data.Dataset.range(3).apply(hr.data.experimental.bytes_produced_stats("size"))
    >>> iterator = measured.with_options(options).make_initializable_iterator()
    >>> element, message = iterator.get_next(), aggregator.get_summary()
    >>> with hr.Session() as session:
    ...     session.run(iterator.initializer)
    ...     _ = session.run(element), session.run(element)
    ...     found = hr.Summary.FromString(session.run(message))
    >>> found.value[0].tag, found.value[0].histo.sum
    ('size', 16.0)
    """

    def __init__(self) -> None:
        self._resource = op("StatsAggregatorHandle")

    def get_summary(self) -> Tensor:
        """Returns a serialised Summary of what was collected, [] string."""
        return op("StatsAggregatorSummary", self._resource)
