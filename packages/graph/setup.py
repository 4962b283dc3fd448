"""Build headrace-graph; what is not computed stands in pyproject.toml."""

import sys
from pathlib import Path

from setuptools import setup

sys.path.insert(0, str(Path(__file__).resolve().parent / "_build"))

from sibling_backend import Build, formats_requirement  # noqa: E402

setup(
    cmdclass={"build": Build},
    install_requires=[
        formats_requirement(),
        "numpy>=2.0; python_version < '3.13'",
        "numpy>=2.1; python_version >= '3.13'",
        "protobuf>=5.29.1,<8",
    ],
)
