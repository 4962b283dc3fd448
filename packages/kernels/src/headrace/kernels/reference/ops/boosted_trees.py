"""The op of boosted trees that trained models apply to their inputs."""

from __future__ import annotations

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.registry import Attrs, kernel


@kernel("BoostedTreesBucketize")
def boosted_trees_bucketize(attrs: Attrs, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    """The first boundary that is not less than a value; the last one for greater values."""
    n = attrs["num_features"]
    found = []
    for values, boundaries in zip(inputs[:n], inputs[n:], strict=True):
        if values.ndim != 1 or boundaries.ndim != 1:
            raise InvalidArgumentError(None, None, "values and boundaries must be vectors")
        places = np.searchsorted(boundaries, values)
        places[np.isnan(values)] = 0
        found.append(np.clip(places, 0, max(0, len(boundaries) - 1)).astype(np.int32))
    return tuple(found)
