"""Build headrace-graph: its only computed parts are the type stubs, made by _build/stubs.py.

`python setup.py build_stubs` makes them beside the sources, as an editable install does.
"""

import sys
from pathlib import Path

from setuptools import Command, setup
from setuptools.command.build_py import build_py

sys.path.insert(0, str(Path(__file__).resolve().parent / "_build"))

from sibling_backend import Build, formats_requirement  # noqa: E402
from stubs import SRC, generate  # noqa: E402


class BuildStubs(Command):
    """Writes the type stubs beside the sources.

    It also accepts `build_ext --inplace`, so that this command works in every package.
    """

    description = "generate the type stubs beside the sources"
    user_options = [("inplace", "i", "always so")]
    boolean_options = ["inplace"]

    def initialize_options(self) -> None:
        self.inplace = True

    def finalize_options(self) -> None: ...

    def run(self) -> None:
        generate(SRC)


class BuildPy(build_py):
    def run(self) -> None:
        super().run()
        generate(SRC if self.editable_mode else Path(self.build_lib))


setup(
    cmdclass={
        "build": Build,
        "build_py": BuildPy,
        "build_ext": BuildStubs,
        "build_stubs": BuildStubs,
    },
    install_requires=[
        formats_requirement(),
        "numpy>=2.0; python_version < '3.13'",
        "numpy>=2.1; python_version >= '3.13'",
        "protobuf>=5.29.1,<8",
    ],
)
