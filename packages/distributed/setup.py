"""Build headrace-distributed: every .pyx under src is one extension module."""

import sys
from pathlib import Path

from setuptools import Extension, setup

sys.path.insert(0, str(Path(__file__).resolve().parent / "_build"))

from native_build import SRC, BuildExt, module_name  # noqa: E402
from sibling_backend import Build, formats_requirement  # noqa: E402


class BuildDistributed(BuildExt):
    def add_paths(self, extension: Extension) -> None:
        import numpy

        super().add_paths(extension)
        extension.include_dirs += [numpy.get_include(), str(SRC / "headrace" / "distributed")]


def extension(pyx: Path) -> Extension:
    return Extension(
        module_name(pyx),
        [str(pyx)],
        language="c++",
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
        extra_compile_args=["-std=c++17", "-O2", "-pthread"],
        extra_link_args=["-pthread"],
    )


setup(
    ext_modules=[extension(pyx) for pyx in sorted(SRC.rglob("*.pyx"))],
    cmdclass={"build": Build, "build_ext": BuildDistributed},
    install_requires=[
        formats_requirement(),
        "numpy>=2.0; python_version < '3.13'",
        "numpy>=2.1; python_version >= '3.13'",
        "protobuf>=5.29.1,<8",
        "grpcio>=1.63; python_version < '3.13'",
        "grpcio>=1.66.2; python_version >= '3.13'",
        "tqdm>=4.60",
    ],
)
