"""Programs of the public functions, a file for each area; `m` is Headrace or TensorFlow."""

from __future__ import annotations

import importlib
import pkgutil

AREAS = {
    module.name: importlib.import_module(f"functions.{module.name}").PROGRAMS
    for module in pkgutil.iter_modules(__path__)
}
ALL = {f"{area}: {name}": f for area, programs in AREAS.items() for name, f in programs.items()}
