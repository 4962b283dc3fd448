"""Links of the pages for people lead to files of the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from guide import ROOT

PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("packages/*/*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    targets = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", prose)
    assert not [target for target in targets if not (page.parent / target).exists()]


def test_the_index_names_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    pages = {str(p.relative_to(ROOT / "docs")) for p in ROOT.glob("docs/**/*.md")} - {"README.md"}
    assert pages <= set(re.findall(r"\]\(([^)]+)\)", index))


def test_contributing_names_only_files_and_environments_that_there_are() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    named = re.findall(r"\b(?:python3?|pytest|-r) ((?:[\w.]+/)*[\w-]+\.(?:py|txt))", text)
    named += re.findall(r"\b(?:packages|tests|tools|docs)/[\w/.]+\w", text)
    assert len(named) > 10
    outside = {"setup.py"}  # it names the package's
    assert not [name for name in named if name not in outside and not (ROOT / name).exists()]
    tox = (ROOT / "tox.ini").read_text()
    for names in re.findall(r"`(?:python3 tools/check.py )?-e ([\w,]+)`", text):
        assert all(f"[testenv:{name}]" in tox for name in names.split(",")), names


FILES = {p.name for p in [*ROOT.glob("packages/**/*.*"), *ROOT.glob("t*/**/*.py")]}


@pytest.mark.parametrize("page", ["architecture.md", "state.md", "README.md"])
def test_source_files_that_a_page_names_exist(page: str) -> None:
    text = (ROOT / "docs" / page).read_text()
    named = re.findall(r"`(?:[\w*.]+/)*(\w+\.(?:pyx|pxd|hpp|cpp|py|h))`", text)
    assert set(named) <= FILES


@pytest.mark.parametrize("guide", sorted(p.name for p in (ROOT / "docs" / "guides").iterdir()))
def test_files_that_a_guide_names_exist(guide: str) -> None:
    text = (ROOT / "docs" / "guides" / guide).read_text()
    new = set(re.findall(r"New file `([^`]+)`", text))
    named = set(re.findall(r"`((?:packages|tests|docs|tools)/[\w./]+)`", text)) - new
    assert not [name for name in named if not (ROOT / name).exists()]


def test_the_picture_of_the_architecture_has_every_folder() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    for package in ("graph", "runtime", "kernels/src/headrace/kernels/cpu"):
        path = package if "/" in package else f"{package}/src/headrace/{package}"
        for folder in (ROOT / "packages" / path).iterdir():
            if folder.is_dir() and folder.name not in ("__pycache__", "lib"):
                assert re.search(rf"\b{folder.name}\b", text), folder
