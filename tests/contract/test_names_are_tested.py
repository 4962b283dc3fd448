"""Every public name of headrace.graph occurs in a test, and every module of it is named in one."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from headrace.graph.api.namespace import find
from headrace.graph.api.public_names import PUBLIC

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "packages" / "graph" / "src" / "headrace" / "graph"
FOLDERS = [ROOT / "tests", *sorted(ROOT.glob("packages/*/tests"))]
TESTS = [
    path
    for folder in FOLDERS
    for path in sorted(folder.rglob("*.py"))
    if path != Path(__file__).resolve()
]


@cache
def words() -> frozenset[str]:
    """Returns the dotted names that tests use or have in strings, and all their parts."""
    found: set[str] = set()
    for path in TESTS:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            for name in names_in(node) if id(node) not in texts else ():
                parts = name.split(".")
                ends = range(1, len(parts) + 1)
                found.update(".".join(parts[i:j]) for j in ends for i in range(j))
    return frozenset(found)


def names_in(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Attribute):
        yield re.sub(r"\(.*\)|\[.*\]", "", ast.unparse(node), flags=re.S)
    elif isinstance(node, ast.ImportFrom):
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from re.findall(r"[A-Za-z_][\w.]*\w", node.value)


@cache
def meanings() -> dict[str, set[int]]:
    """Returns a dict from last parts of public names to the objects of these names."""
    found = defaultdict(set)
    for name in PUBLIC:
        found[name.rpartition(".")[2]].add(id(find(name)))
    return found


def occurs(name: str) -> bool:
    """Returns whether a test uses a name: `nn.conv2d`, or "conv2d" if it is unambiguous."""
    last = name.rpartition(".")[2]
    return name in words() or (len(meanings()[last]) == 1 and last in words())


def test_every_public_name_occurs_in_a_test() -> None:
    assert [name for name in PUBLIC if not occurs(name)] == []


MODULES = sorted(
    path.relative_to(SOURCE).with_suffix("").as_posix()
    for path in SOURCE.rglob("*.py")
    if path.name != "__init__.py"
)


def is_tested(module: str) -> bool:
    """Returns whether a module has a test of its stem, or a test names it or its public names."""
    stem = module.rpartition("/")[2]
    if any(path.name == f"test_{stem}.py" for path in TESTS):
        return True
    dotted = module.replace("/", ".")
    public = [
        name
        for name, target in PUBLIC.items()
        if target.partition(":")[0] == dotted and not name.startswith("_")
    ]
    named = {dotted, f"headrace.graph.{dotted}", stem} if "_" in stem else {dotted}
    return bool(named & words()) or any(map(occurs, public))


def test_every_module_has_a_test_of_its_stem_or_is_named_in_one() -> None:
    assert [module for module in MODULES if not is_tested(module)] == []
