"""Build headrace-board: the scanner (every .pyx under src) and the front end's assets."""

import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

sys.path.insert(0, str(Path(__file__).resolve().parent / "_build"))

from frontend_build import build_frontend  # noqa: E402
from native_build import SRC, BuildExt, module_name  # noqa: E402
from sibling_backend import Build, formats_requirement  # noqa: E402

ASSETS = Path("headrace", "board", "assets")


class BuildBoard(BuildExt):
    """The extensions; in the source tree the assets too, so that --inplace makes all there is."""

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
    """Leaves assets of the source tree out of a wheel, which gets its own."""

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
