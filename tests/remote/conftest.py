"""Fixtures: an object store and web servers as processes on loopback."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2] / "packages" / "formats" / "tests"))

from object_store import ObjectStore
from stores import HttpServer

import headrace.graph as hr


@pytest.fixture(autouse=True)
def graph() -> Iterator[hr.Graph]:
    """A new default graph for each test."""
    with hr.Graph().as_default() as fresh:
        yield fresh


@pytest.fixture(scope="session")
def object_store() -> Iterator[ObjectStore]:
    """The server of all tests of a session: clients keep its address."""
    store = ObjectStore()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in store.environment.items():
            patch.setenv(name, value)
        yield store
    store.stop()


@pytest.fixture
def bucket(object_store: ObjectStore) -> str:
    """The URL of a new bucket."""
    import s3fs

    name = f"b{uuid.uuid4().hex[:20]}"
    s3fs.S3FileSystem().mkdir(name)
    object_store.requests()
    return f"s3://{name}"


@pytest.fixture(params=[True, False], ids=["ranges", "whole files only"])
def web_server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HttpServer]:
    """A server of the files of tmp_path, which sends ranges or does not."""
    server = HttpServer(tmp_path, request.param)
    yield server
    server.stop()
