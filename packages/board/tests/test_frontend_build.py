"""A build of the front end replaces the one before, or leaves it alone."""

from __future__ import annotations

import importlib.util
import os
import time
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).resolve().parents[1] / "_build" / "frontend_build.py"


@pytest.fixture
def building(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, over sources of our own and without npm."""
    spec = importlib.util.spec_from_file_location("frontend_build_tested", HERE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sources = tmp_path / "frontend"
    sources.mkdir()
    (sources / "package.json").write_text("{}")
    monkeypatch.setattr(module, "FRONTEND", sources)
    monkeypatch.setattr(module, "_install_packages", lambda: None)
    monkeypatch.setattr(module, "node", lambda: Path("node"))
    return module


def test_a_build_that_fails_leaves_the_bundle_that_is_there(
    building: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assets = tmp_path / "assets"
    assets.mkdir()
    (assets / "index.html").write_text("old")

    def fail(command: list[str]) -> None:
        raise SystemExit("the bundler failed")

    monkeypatch.setattr(building, "_run", fail)
    with pytest.raises(SystemExit):
        building.build_frontend(assets)
    assert (assets / "index.html").read_text() == "old"


def test_what_killed_builds_have_left_goes_and_a_build_at_work_is_left_alone(
    building: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assets = tmp_path / "assets"
    left, at_work = tmp_path / "assets.making-left", tmp_path / "assets.making-now"
    for folder in (left, at_work):
        folder.mkdir()
    yesterday = time.time() - 86400
    os.utime(left, (yesterday, yesterday))
    monkeypatch.setattr(building, "_run", lambda command: assets.mkdir())
    building.build_frontend(assets)
    assert at_work.exists() and not left.exists()
    assert (assets / ".built_from").exists()
