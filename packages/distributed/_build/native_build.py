"""Compile extensions object by object, and only what changed.

setuptools compiles all sources of an extension when one is newer, does not see a changed header
and does not transpile a .pyx again when a .pxd changed. Here every object has the list of files
that the compiler read for it, and the command that made it. The same file stands in every compiled
package; tests/dependencies compares them.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import distribution, version
from pathlib import Path

from setuptools import Extension
from setuptools.command.build_ext import build_ext
from sibling_backend import build_dir, formats_checkout

SRC = Path("src")

# HEADRACE_SANITIZE: what the compilers check the code for, at the cost of speed. Frame pointers and
# line numbers stay, so that a report names functions and lines; -O1 halves the time to compile.
SANITIZERS = {
    "": [],
    "address": ["-O1", "-fsanitize=address,undefined"],
    "thread": ["-O1", "-fsanitize=thread"],
}


def located(name: str, file_name: str) -> Path:
    """Returns: the folder of a file that an installed distribution carries.

    Never look in sys.prefix: pip's isolated build environment is a path overlay beside it.
    """
    for file in distribution(name).files or ():
        if file.name == file_name:
            return Path(str(file.locate())).resolve().parent
    raise FileNotFoundError(f"{name} {version(name)} has no {file_name}")


def formats_include_dir() -> Path:
    """Returns: the folder of headrace/kernel.h; the checkout's own where there is one."""
    checkout = formats_checkout()
    if checkout is not None:
        return checkout / "src" / "headrace" / "formats" / "include"
    return located("headrace-formats", "kernel.h").parent


def sanitizer_flags() -> list[str]:
    """Returns: the flags of HEADRACE_SANITIZE, for the compiler and the linker."""
    chosen = os.environ.get("HEADRACE_SANITIZE", "")
    if chosen not in SANITIZERS:
        known = " or ".join(name for name in SANITIZERS if name)
        raise SystemExit(f"headrace: HEADRACE_SANITIZE is {chosen!r}: set it to {known}")
    return SANITIZERS[chosen]


class Progress:
    """Reports a build to the file HEADRACE_PROGRESS: `steps N`, then a line `done` for each step.

    pip keeps what a build prints to itself; tools/wheelhouse.py draws a bar from these files.
    """

    def __init__(self, steps: int) -> None:
        self._path = os.environ.get("HEADRACE_PROGRESS")
        self._write(f"steps {steps}\n")

    def done(self) -> None:
        self._write("done\n")

    def _write(self, line: str) -> None:
        if self._path:
            with open(self._path, "a") as file:  # short appends of several threads stay whole
                file.write(line)


def module_name(pyx: Path) -> str:
    """Returns: the dotted name of src/headrace/a/b.pyx: headrace.a.b."""
    return ".".join(pyx.relative_to(SRC).with_suffix("").parts)


class BuildExt(build_ext):
    """build_ext with a check per object; HEADRACE_JOBS compilers at once (all cores if unset)."""

    def finalize_options(self) -> None:
        super().finalize_options()
        # An editable install would use a new temporary folder each time, and compile all again.
        tag = f"temp.{self.plat_name}-{sys.implementation.cache_tag}"
        if sanitizer_flags():
            tag += f"-{os.environ['HEADRACE_SANITIZE']}"  # its objects never mix with others
        self.build_temp = os.path.relpath(build_dir() / tag)

    def add_paths(self, extension: Extension) -> None:
        """Adds what is known only once the build requirements are there; packages may add more."""
        extension.include_dirs += [str(formats_include_dir()), str(SRC)]

    def build_extensions(self) -> None:
        self._stop_on_foreign_compiler()
        objects: dict[Path, list[str]] = {}  # object: the command that makes it
        of_extension: dict[str, list[Path]] = {}
        jobs = int(os.environ.get("HEADRACE_JOBS", 0)) or os.cpu_count() or 1
        with ThreadPoolExecutor(jobs) as pool:
            for extension in self.extensions:
                self.add_paths(extension)
            sources = [(e, Path(s)) for e in self.extensions for s in e.sources]
            cython = [source for _, source in sources if source.suffix == ".pyx"]
            self.progress = Progress(len(cython) + len(sources))
            for (extension, source), cpp in zip(
                sources, pool.map(self._transpiled, sources), strict=True
            ):
                created = self._temp(source).with_suffix(".o")
                objects[created] = self._compile_command(extension, cpp, created)
                of_extension.setdefault(extension.name, []).append(created)
            # The largest first: the last to finish decides how long the build takes.
            stale = [created for created in objects if not _up_to_date(created, objects[created])]
            stale.sort(key=lambda created: -Path(objects[created][-3]).stat().st_size)
            for _ in range(len(objects) - len(stale)):
                self.progress.done()
            for result in [pool.submit(self._compile, created, objects[created]) for created in stale]:
                result.result()
        for extension in self.extensions:
            self._link(extension, of_extension.get(extension.name, []))

    def _stop_on_foreign_compiler(self) -> None:
        if self.compiler.compiler_type != "unix":
            raise SystemExit(
                f"headrace: the compiled packages know gcc and clang, not"
                f" {self.compiler.compiler_type}: set CC and CXX to one of them"
            )

    def _temp(self, source: Path) -> Path:
        return Path(self.build_temp) / source

    def _compile(self, created: Path, command: list[str]) -> None:
        _make(created, command)
        self.progress.done()

    def _transpiled(self, job: tuple[Extension, Path]) -> Path:
        extension, source = job
        if source.suffix != ".pyx":
            return source
        created = self._transpile(extension, source)
        self.progress.done()
        return created

    def _transpile(self, extension: Extension, source: Path) -> Path:
        """Returns: the C++ of a .pyx; made again if the .pyx or a .pxd that it reads changed."""
        created = self._temp(source).with_suffix(".cpp")
        command = [sys.executable, "-m", "cython", "-3", "--cplus", "--depfile"]
        command += ["--module-name", extension.name, "-I", str(SRC)]
        command += ["-o", str(created), str(source)]
        if not _up_to_date(created, command, version("Cython")):
            _make(created, command, version("Cython"))
        return created

    def _compile_command(self, extension: Extension, source: Path, created: Path) -> list[str]:
        compiler = getattr(self.compiler, "compiler_so_cxx", None) or self.compiler.compiler_so
        command = list(compiler) + [f"-I{folder}" for folder in extension.include_dirs]
        command += [f"-I{folder}" for folder in self.include_dirs]
        command += [f"-D{n}" if v is None else f"-D{n}={v}" for n, v in extension.define_macros]
        checks = sanitizer_flags()
        # ThreadSanitizer does not see the barriers of libgomp, which is not instrumented: loops of
        # ours run on one thread there. The linker still gets -fopenmp: oneDNN needs the library.
        left_out = ["-fopenmp"] if "-fsanitize=thread" in checks else []
        arguments = [a for a in extension.extra_compile_args if a not in left_out]
        command += ["-g1" if checks else "-g0", *arguments]
        command += ["-fno-omit-frame-pointer", *checks] if checks else []
        return command + ["-MMD", "-MF", f"{created}.d", "-c", str(source), "-o", str(created)]

    def _linker(self) -> list[str]:
        """Returns: the command that links, by the compiler that compiles.

        setuptools takes CXX for compiling alone: g++ would link what clang made with libgomp.
        """
        linker = list(getattr(self.compiler, "linker_so_cxx", None) or self.compiler.linker_so)
        if "CXX" not in os.environ:
            return linker
        flags = next((i for i, word in enumerate(linker) if word.startswith("-")), len(linker))
        return shlex.split(os.environ["CXX"]) + linker[flags:]

    def _link(self, extension: Extension, objects: list[Path]) -> None:
        created = Path(self.get_ext_fullpath(extension.name))
        created.parent.mkdir(parents=True, exist_ok=True)
        command = self._linker() + [str(o) for o in objects]
        command += [f"-L{folder}" for folder in extension.library_dirs]
        command += [f"-l{name}" for name in extension.libraries]
        checks = sanitizer_flags()
        command += checks or (["-s"] if sys.platform == "linux" else [])  # no symbols
        command += [*extension.extra_link_args, "-o"]
        # Linked under a name of its own: an interpreter may have the old file mapped.
        fresh = self._temp(Path(f"{extension.name}.so"))
        if not _up_to_date(fresh, command, inputs=objects):
            _make(fresh, [*command, str(fresh)], signed=command)
        self.copy_file(str(fresh), str(created))


def _signature(command: list[str], tool: str = "") -> str:
    return hashlib.sha256("\0".join([tool, *command]).encode()).hexdigest()


def _up_to_date(
    created: Path, command: list[str], tool: str = "", inputs: list[Path] | None = None
) -> bool:
    """Returns: whether made is newer than all it was made from, and was made by this command."""
    sign = Path(f"{created}.made_by")
    if not created.exists() or not sign.exists() or sign.read_text() != _signature(command, tool):
        return False
    if inputs is None:
        inputs = _read_depfile(created)
    time = created.stat().st_mtime_ns
    return bool(inputs) and all(p.exists() and p.stat().st_mtime_ns <= time for p in inputs)


def _read_depfile(created: Path) -> list[Path]:
    """Returns: the files that `made: a b \\` names; none if the compiler left no such list."""
    for path in (Path(f"{created}.d"), Path(f"{created}.dep")):
        if path.exists():
            text = path.read_text().replace("\\\n", " ")
            return [Path(name) for name in shlex.split(text.partition(": ")[2])]
    return []


def _make(created: Path, command: list[str], tool: str = "", signed: list[str] | None = None) -> None:
    created.parent.mkdir(parents=True, exist_ok=True)
    Path(f"{created}.made_by").unlink(missing_ok=True)
    source = next((c for c in reversed(command) if c.endswith((".pyx", ".cpp"))), "")
    what = f"link {created}" if signed else f"make {source}"
    sys.stdout.write(what + "\n")  # in one piece: several threads do this
    started = _now(created.parent)
    done = subprocess.run(command, capture_output=True, text=True)
    sys.stderr.write(done.stderr)
    if done.returncode != 0:
        raise SystemExit(f"headrace: failed: {shlex.join(command)}")
    # A file edited while the compiler ran must count as newer than what came out.
    os.utime(created, ns=(started, started))
    Path(f"{created}.made_by").write_text(_signature(signed or command, tool))


def _now(folder: Path) -> int:
    """Returns: the current time of folder's file system, in ns."""
    probe = folder / f".clock.{os.getpid()}.{id(folder)}"
    probe.touch()
    try:
        return probe.stat().st_mtime_ns
    finally:
        probe.unlink()
