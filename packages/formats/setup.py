"""Builds headrace-formats: runs protoc over proto/*.proto, the package's only generated code.

`python setup.py build_protos` generates it in the source tree, as an editable install does.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from setuptools import Command, setup
from setuptools.command.build import build
from setuptools.command.build_py import build_py

SRC = Path(__file__).resolve().parent / "src"
PROTO = SRC / "headrace" / "formats" / "proto"


class BuildProtos(Command):
    """Runs protoc over proto/*.proto and writes the modules beside the sources.

    It is also registered as `build_ext --inplace`, so that every package builds by one command.
    """

    description = "generate *_pb2.py and *_pb2.pyi beside the sources"
    user_options = [("inplace", "i", "accepted for build_ext; always in place")]
    boolean_options = ["inplace"]

    def initialize_options(self) -> None:
        self.inplace = True

    def finalize_options(self) -> None: ...

    def run(self) -> None:
        generate(SRC)


class BuildPy(build_py):
    """Leaves generated modules of the source tree out of a wheel, which generates its own."""

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        modules = super().find_package_modules(package, package_dir)
        return [m for m in modules if not m[1].endswith("_pb2")]

    def run(self) -> None:
        if not self.editable_mode:
            shutil.rmtree(self.build_lib, ignore_errors=True)  # it may hold modules deleted since
        super().run()
        generate(SRC if self.editable_mode else Path(self.build_lib))


class Build(build):
    """Takes the build folder from $HEADRACE_BUILD_DIR, so that builds can run in parallel."""

    def initialize_options(self) -> None:
        super().initialize_options()
        self.build_base = os.environ.get("HEADRACE_BUILD_DIR", self.build_base)


def generate(target: Path) -> None:
    """Generates *_pb2.py and *_pb2.pyi under `target`, unless they are up to date."""
    protos = sorted(PROTO.glob("*.proto"))
    result = [
        target / p.relative_to(SRC).with_name(p.stem + end)
        for p in protos
        for end in ("_pb2.py", "_pb2.pyi")
    ]
    state = hashlib.sha256(version("grpcio-tools").encode())
    for proto in protos:
        state.update(proto.name.encode() + b"\0" + proto.read_bytes())
    stamp = target / PROTO.relative_to(SRC) / ".generated_from"
    if target == SRC and stamp.exists() and stamp.read_text() == state.hexdigest():
        if all(path.exists() for path in result):
            return
    if not protos:
        return
    target.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{SRC}"]
    command += [f"--python_out={target}", f"--pyi_out={target}", *map(str, protos)]
    subprocess.run(command, check=True)
    if target == SRC:
        for old in PROTO.glob("*_pb2.py*"):
            if old not in result:
                old.unlink()
        stamp.write_text(state.hexdigest())


setup(
    cmdclass={
        "build": Build,
        "build_py": BuildPy,
        "build_ext": BuildProtos,
        "build_protos": BuildProtos,
    },
)
