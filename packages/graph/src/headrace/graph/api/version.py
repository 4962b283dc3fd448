"""The version of the API, and that of the installed package."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def _installed() -> str:
    try:
        return version("headrace-graph")
    except PackageNotFoundError:  # imported from a checkout that is not installed
        return "0+unknown"


__version__ = "1.15.0"  # of TensorFlow's API; programs compare it
PACKAGE_VERSION = _installed()
