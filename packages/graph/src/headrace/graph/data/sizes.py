"""The number of elements of a dataset."""

from __future__ import annotations

from headrace.graph.builder.op_builder import op
from headrace.graph.data.dataset import Dataset
from headrace.graph.framework.operation import Tensor

INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2


def cardinality(dataset: Dataset) -> Tensor:
    """Returns the number of elements, [] int64, as far as it follows without reading the dataset.

    Returns: the number, `INFINITE_CARDINALITY`, or `UNKNOWN_CARDINALITY`, such as for files.

    >>> import headrace.graph as hr
    >>> with hr.Session() as session:
    ...     print(session.run(hr.data.experimental.cardinality(hr.data.Dataset.range(7).batch(3))))
    3
    """
    return op("DatasetCardinality", dataset._variant_tensor)
