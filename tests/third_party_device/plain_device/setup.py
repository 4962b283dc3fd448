"""Names the C sources, and where device.h and kernel.h are."""

from setuptools import Extension, setup

from headrace.formats import include_dir

SOURCES = [f"src/plain_device/{name}.c" for name in ("library", "device", "kernels")]

setup(
    ext_modules=[
        Extension(
            "plain_device.library",
            SOURCES,
            include_dirs=[include_dir()],
            depends=["src/plain_device/device.h"],
            extra_compile_args=["-std=c11", "-Wall", "-Wextra"],
        )
    ]
)
