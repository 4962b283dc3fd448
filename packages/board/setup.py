"""Builds headrace-board: every .pyx file under src, and the front end."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

sys.path.insert(0, str(Path(__file__).resolve().parent / "_build"))

from frontend_build import build_frontend  # noqa: E402
from native_build import SRC, BuildExt, module_name  # noqa: E402
from sibling_backend import Build, formats_requirement  # noqa: E402

ASSETS = Path("headrace", "board", "assets")
# 1: an install without compiled code is an error. Checks set it, so as not to test the fallbacks.
REQUIRED = "HEADRACE_REQUIRE_NATIVE"
WITHOUT = """
************************************************************************************************
headrace-board: NO COMPILED CODE. {why}
The package is installed with slower Python code instead: logs are read about ten times slower, and
the Problems page says so. Install a C++ compiler and Python's headers (Debian: apt install g++
python3-dev) and install again; {required}=1 makes this an error.
************************************************************************************************
"""


class BuildBoard(BuildExt):
    """Builds the extensions if there is a compiler; with --inplace, also the front end."""

    def build_extensions(self) -> None:
        why = self._no_compiler()
        if not why:
            super().build_extensions()
        elif os.environ.get(REQUIRED) == "1":
            raise SystemExit(f"headrace-board: {REQUIRED}=1, but {why}")
        else:
            self.extensions = []
            sys.stderr.write(WITHOUT.format(why=why, required=REQUIRED))

    def _no_compiler(self) -> str:
        """Returns why nothing can be compiled here, "" if it can.

        Decided by compiling three lines: if they compile, an error in an extension is an error.
        """
        compiler = getattr(self.compiler, "compiler_so_cxx", None) or self.compiler.compiler_so
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "probe.cpp")
            source.write_text("#include <Python.h>\n#include <string_view>\nint probe;\n")
            command = [*compiler, "-std=c++17", *(f"-I{path}" for path in self.include_dirs)]
            command += ["-c", str(source), "-o", str(source.with_suffix(".o"))]
            try:
                done = subprocess.run(command, capture_output=True, text=True)
            except OSError as error:
                return f"the C++ compiler {compiler[0]} cannot be run: {error.strerror}"
        if done.returncode != 0:
            return f"the C++ compiler {compiler[0]} does not work:\n{done.stderr.strip()}"
        return ""

    def add_paths(self, extension: Extension) -> None:
        import numpy

        super().add_paths(extension)
        beside = str(Path(extension.sources[0]).parent)
        extension.include_dirs += [numpy.get_include(), beside]

    def run(self) -> None:
        super().run()
        if self.inplace:
            build_frontend(SRC / ASSETS)


class BuildPy(build_py):
    """Excludes the assets of the source tree from a wheel, which gets freshly built ones."""

    def find_data_files(self, package: str, src_dir: str) -> list[str]:
        found = super().find_data_files(package, src_dir)
        return [path for path in found if ASSETS.name not in Path(path).parts]

    def run(self) -> None:
        super().run()
        build_frontend(SRC / ASSETS if self.editable_mode else Path(self.build_lib) / ASSETS)


def extension(pyx: Path) -> Extension:
    return Extension(
        module_name(pyx),
        [str(pyx)],
        language="c++",
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
        extra_compile_args=["-std=c++17", "-O2"],
    )


setup(
    ext_modules=[extension(pyx) for pyx in sorted(SRC.rglob("*.pyx"))],
    cmdclass={"build": Build, "build_ext": BuildBoard, "build_py": BuildPy},
    install_requires=[
        formats_requirement(),
        "numpy>=2.0; python_version < '3.13'",
        "numpy>=2.1; python_version >= '3.13'",
        "protobuf>=5.29.1,<8",
        "google-crc32c>=1.7",
        "flask>=3.0",
        "werkzeug>=3.0",
        "waitress>=3.0",
    ],
)
