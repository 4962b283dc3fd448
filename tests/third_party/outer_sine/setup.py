"""Names the C kernel's source, and where kernel.h is."""

from setuptools import Extension, setup

from headrace.formats import include_dir

setup(
    ext_modules=[
        Extension("outer_sine.kernels", ["src/outer_sine/kernels.c"], include_dirs=[include_dir()])
    ]
)
