"""PEP 517 backend: setuptools, with headrace-formats taken from the checkout where there is one.

The packages of a checkout are on no registry, so `pip install ./packages/X` in an empty environment
needs its sibling by file URL. Editable metadata keeps the range (pip refuses a URL beside an
editable install of the same package), and so does a release (HEADRACE_RELEASE=1) or a source
archive unpacked elsewhere. The same file stands in every package that has a sibling;
tests/dependencies compares them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_sdist,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_wheel,
)
from setuptools.command.build import build

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

PACKAGE = Path(__file__).resolve().parents[1]
FORMATS_RANGE = "headrace-formats>=0.1,<0.2"
_making_editable = False


def formats_checkout() -> Path | None:
    """Returns: the folder of headrace-formats beside this package; None outside a checkout."""
    folder = PACKAGE.parent / "formats"
    return folder if (folder / "pyproject.toml").exists() else None


def formats_requirement() -> str:
    """Returns: the requirement on headrace-formats in the metadata under construction."""
    folder = formats_checkout()
    if folder is None or _making_editable or os.environ.get("HEADRACE_RELEASE") == "1":
        return FORMATS_RANGE
    return f"headrace-formats @ {folder.as_uri()}"


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    return build_meta.get_requires_for_build_wheel(config_settings) + _formats_at_build_time()


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    return build_meta.get_requires_for_build_editable(config_settings) + _formats_at_build_time()


def prepare_metadata_for_build_editable(directory: str, config_settings: Any = None) -> str:
    with _editable_metadata():
        return build_meta.prepare_metadata_for_build_editable(directory, config_settings)


def build_editable(directory: str, config_settings: Any = None, metadata: Any = None) -> str:
    with _editable_metadata():
        return build_meta.build_editable(directory, config_settings, metadata)


def build_wheel(directory: str, config_settings: Any = None, metadata: Any = None) -> str:
    # setuptools packs whatever lies in lib*, modules deleted since included; temp* holds objects.
    for left in build_dir().glob("lib*"):
        shutil.rmtree(left)
    return build_meta.build_wheel(directory, config_settings, metadata)


def build_dir() -> Path:
    """Returns: build, or HEADRACE_BUILD_DIR, so that two builds keep out of each other."""
    return Path(os.environ.get("HEADRACE_BUILD_DIR", PACKAGE / "build"))


class Build(build):
    """The build command, in the folder that build_dir says."""

    def initialize_options(self) -> None:
        super().initialize_options()
        self.build_base = str(build_dir())


def _formats_at_build_time() -> list[str]:
    """Returns: formats as a build requirement, for its headers or op catalogue; a checkout has it."""
    builds = [PACKAGE / "_build" / name for name in ("native_build.py", "stubs.py")]
    needed = any(path.exists() for path in builds)
    return [FORMATS_RANGE] if needed and formats_checkout() is None else []


@contextmanager
def _editable_metadata() -> Iterator[None]:
    global _making_editable
    _making_editable = True
    try:
        yield
    finally:
        _making_editable = False
