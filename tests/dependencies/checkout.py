"""The packages of the checkout, their sources, and their declared dependencies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = sorted(p.parent.name for p in (ROOT / "packages").glob("*/pyproject.toml"))
# Every package may import formats; no package imports another.
SHARED = "formats"
# Import names of required distributions, where they differ.
IMPORTED_AS = {
    "grpcio": "grpc",
    "google-crc32c": "google_crc32c",
    "protobuf": "google",
    "pillow": "PIL",
}
GENERATED = re.compile(r"_pb2\.pyi?$")


def source_root(package: str) -> Path:
    return ROOT / "packages" / package / "src"


def sources(package: str, *suffixes: str) -> Iterator[Path]:
    """Yields the files of a package with these suffixes, without generated ones."""
    for path in sorted(source_root(package).rglob("*")):
        if path.suffix in suffixes and not GENERATED.search(path.name):
            yield path


def python_tests(package: str) -> list[Path]:
    return sorted((ROOT / "packages" / package / "tests").rglob("*.py"))


def declared(package: str) -> set[str]:
    """Returns: the import names of a package's run-time requirements."""
    text = (ROOT / "packages" / package / "pyproject.toml").read_text().split("[project]")[1]
    listed = re.search(r"^dependencies = \[(.*?)^\]", text, re.DOTALL | re.MULTILINE)
    if listed is None:
        script = (ROOT / "packages" / package / "setup.py").read_text()
        listed = re.search(r"install_requires=\[(.*?)\]", script, re.DOTALL)
    assert listed is not None
    names = re.findall(r'^\s*"([A-Za-z0-9_-]+)', listed[1], re.MULTILINE)
    extras = text.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    names += re.findall(r'\["([A-Za-z0-9_-]+)', extras)
    return {IMPORTED_AS.get(name, name) for name in names}
