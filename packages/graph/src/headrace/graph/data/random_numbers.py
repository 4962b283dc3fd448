"""A dataset of random numbers."""

from __future__ import annotations

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.op_builder import op
from headrace.graph.data.dataset import Dataset
from headrace.graph.data.dataset_node import DatasetNode
from headrace.graph.data.element_specs import flat_structure
from headrace.graph.data.order import seeds
from headrace.graph.framework.tensor_spec import TensorSpec


class RandomDataset(Dataset):
    """A dataset of random [] int64 numbers from 0 to 2**32 - 1, without end.

    Args: seed: seed, together with that of the graph; without both, each run has other numbers.
    """

    _shown_as = "RandomDatasetV1"

    def __init__(self, seed: int | None = None) -> None:
        spec = TensorSpec([], as_dtype("int64"))
        DatasetNode.__init__(self, op("RandomDataset", *seeds(seed), **flat_structure(spec)), spec)
