"""Build headrace-kernels: one extension for the kernels of each library.

cpu calls oneDNN, which comes from its wheels; one stripped copy travels inside our package, in
cpu/lib. Where those wheels do not exist, or with HEADRACE_ONEDNN=0, OpenBLAS takes its place.
opencl needs nothing to build: it loads OpenCL when it looks for devices.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import distribution
from pathlib import Path

from setuptools import Extension, setup

sys.path.insert(0, str(Path(__file__).resolve().parent / "_build"))

from native_build import SRC, BuildExt, located  # noqa: E402
from sibling_backend import Build, formats_requirement  # noqa: E402

KERNELS = SRC / "headrace" / "kernels"
CPU = KERNELS / "cpu"
OPENCL = KERNELS / "opencl"
LIBRARY = KERNELS / "library"  # what both compiled libraries contain
CPU_TABLE, OPENCL_TABLE = "headrace.kernels.cpu._table", "headrace.kernels.opencl._table"
ONEDNN = (sys.platform, platform.machine()) == ("linux", "x86_64")
ONEDNN = ONEDNN and os.environ.get("HEADRACE_ONEDNN") != "0"


class BuildKernels(BuildExt):
    """Adds the numeric library of the CPU: its headers to compile, itself to carry."""

    def add_paths(self, extension: Extension) -> None:
        super().add_paths(extension)
        extension.include_dirs += [str(KERNELS)]  # library/
        if extension.name == CPU_TABLE:
            self.add_cpu_paths(extension)
        else:
            extension.include_dirs += [str(OPENCL)]

    def add_cpu_paths(self, extension: Extension) -> None:
        import numpy

        extension.include_dirs += [str(CPU), numpy.get_include()]
        headers, library, name = numeric_library()
        extension.include_dirs += [str(headers)]
        extension.library_dirs += [str(library.parent)]
        extension.libraries += [name]

    def build_extensions(self) -> None:
        super().build_extensions()
        for extension in self.extensions:
            if extension.name == CPU_TABLE:
                carry(Path(self.get_ext_fullpath(extension.name)).parent / "lib")

    def copy_extensions_to_source(self) -> None:
        super().copy_extensions_to_source()
        if any(extension.name == CPU_TABLE for extension in self.extensions):
            carry(CPU / "lib")


def numeric_library() -> tuple[Path, Path, str]:
    """Returns: the folder of its headers, the shared object, the name to link it by."""
    if ONEDNN:
        headers = located("onednn-devel-cpu-gomp", "dnnl.hpp")
        return headers, located("onednn-cpu-gomp", "libdnnl.so") / "libdnnl.so", "dnnl"
    import scipy_openblas32

    folder = Path(scipy_openblas32.get_lib_dir())
    shared = next(p for p in folder.iterdir() if p.name.startswith(("libscipy_openblas.",)))
    return Path(scipy_openblas32.get_include_dir()), shared, "scipy_openblas"


def carry(folder: Path) -> None:
    """Puts the numeric library into folder, stripped, under the name the linker recorded."""
    library = numeric_library()[1]
    target = folder / ("libdnnl.so.3" if ONEDNN else library.name)
    if target.exists() and target.stat().st_mtime >= library.stat().st_mtime:
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(library.resolve(), target)
    if sys.platform == "linux":
        subprocess.run(["strip", "--strip-unneeded", str(target)], check=True)
    for notice in licence_notices("onednn-cpu-gomp" if ONEDNN else "scipy-openblas32"):
        shutil.copy(notice, folder / notice.name)


def licence_notices(name: str) -> list[Path]:
    words = ("license", "licence", "notice", "third-party")
    files = distribution(name).files or ()
    return [Path(str(f.locate())) for f in files if f.name.lower().startswith(words)]


def cpu_table() -> list[Extension]:
    sources = (
        sorted(CPU.rglob("*.cpp")) + sorted(LIBRARY.rglob("*.cpp")) + sorted(CPU.rglob("*.pyx"))
    )
    if not sources:
        return []
    onednn = "1" if ONEDNN else "0"
    return [
        Extension(
            CPU_TABLE,
            [str(path) for path in sources],
            language="c++",
            define_macros=[
                ("HR_WITH_ONEDNN", onednn),
                ("HR_WITH_OPENBLAS", "0" if ONEDNN else "1"),
                ("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"),
            ],
            extra_compile_args=[
                "-std=c++17",
                "-O2",
                "-ftree-vectorize",
                *gcc_flags(),
                "-fno-trapping-math",
                "-fno-math-errno",
                "-fopenmp",
                "-fvisibility=hidden",
            ],
            extra_link_args=["-fopenmp", "-Wl,-rpath,$ORIGIN/lib"],
        )
    ]


def opencl_table() -> list[Extension]:
    sources = sorted(OPENCL.rglob("*.cpp"))
    if not sources or sys.platform == "win32":
        return []
    return [
        Extension(
            OPENCL_TABLE,
            [str(path) for path in sources + sorted(LIBRARY.rglob("*.cpp"))],
            language="c++",
            extra_compile_args=["-std=c++17", "-O2", "-fvisibility=hidden", "-pthread"],
            extra_link_args=["-pthread", *(["-ldl"] if sys.platform == "linux" else [])],
        )
    ]


def gcc_flags() -> list[str]:
    """Returns: the flags that clang does not know. GCC's -O2 alone vectorises next to nothing."""
    compiler = (os.environ.get("CXX") or sysconfig.get_config_var("CXX") or "c++").split()
    version = subprocess.run([*compiler, "--version"], capture_output=True, text=True, check=True)
    return [] if "clang" in version.stdout else ["-fvect-cost-model=dynamic"]


setup(
    ext_modules=cpu_table() + opencl_table(),
    cmdclass={"build": Build, "build_ext": BuildKernels},
    install_requires=[
        formats_requirement(),
        "numpy>=2.0; python_version < '3.13'",
        "numpy>=2.1; python_version >= '3.13'",
        "protobuf>=5.29.1,<8",
        "ml_dtypes>=0.5",
    ],
)
