"""The log of each writer, written once for all processes of a test session."""

from __future__ import annotations

import pytest
from browser.peers.peer_log import WRITERS, PeerLog, written


@pytest.fixture(scope="module", params=WRITERS)
def log(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> PeerLog:
    root = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):
        root = root.parent
    return written(request.param, root / "peer_logs")
