"""Programs of the public functions, a file for each area; `m` is Headrace or TensorFlow."""

from __future__ import annotations

from functions import networks, normalization

AREAS = {"normalization": normalization.PROGRAMS, "networks": networks.PROGRAMS}
ALL = {f"{area}: {name}": f for area, programs in AREAS.items() for name, f in programs.items()}
