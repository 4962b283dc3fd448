"""Programs of the public functions, a file for each area; `m` is Headrace or TensorFlow."""

from __future__ import annotations

from functions import by_index, layers, networks, normalization, sparse, text

AREAS = {
    "normalization": normalization.PROGRAMS,
    "networks": networks.PROGRAMS,
    "layers": layers.PROGRAMS,
    "by_index": by_index.PROGRAMS,
    "sparse": sparse.PROGRAMS,
    "text": text.PROGRAMS,
}
ALL = {f"{area}: {name}": f for area, programs in AREAS.items() for name, f in programs.items()}
