"""A board on a free port, and a browser to look at it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser.lasting_page import LastingPage
from fixtures.board_launcher import launcher

CHROMIUM = os.environ.get("HEADRACE_CHROMIUM", "/usr/bin/chromium")
# A page of one board stays in the process of the page of another: to start a process takes as long
# as to show a page.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--renderer-process-limit=1",
    "--disable-site-isolation-trials",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


class BoardProcess:
    """A `headrace-board` in its own process; without test hooks it is as a user starts it."""

    def __init__(
        self, logdir: Path, *arguments: str, port: int = 0, test_hooks: bool = True
    ) -> None:
        options = ["--logdir", str(logdir), "--port", str(port), *arguments]
        self._as_user: subprocess.Popen[str] | None = None
        if test_hooks:
            self._process_id, self._output = launcher().start(options)
        else:
            self._as_user = subprocess.Popen(
                [sys.executable, "-m", "headrace.board", *options],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            assert self._as_user.stdout is not None
            self._process_id, self._output = self._as_user.pid, self._as_user.stdout
        self.lines = [self._output.readline()]
        assert " on http://" in self.lines[0], self.lines[0] + self._output.read()
        self.url = self.lines[0].rsplit(" on ", 1)[1].strip()
        self.port = int(self.url.rsplit(":", 1)[1].split("/")[0])
        self._drain = threading.Thread(target=self._read, daemon=True)
        self._drain.start()

    def _read(self) -> None:
        for line in self._output:
            self.lines.append(line)

    def kill(self) -> None:
        """Ends it without a chance to clean up."""
        self.stop(signal.SIGKILL)

    def stop(self, by: signal.Signals = signal.SIGTERM) -> None:
        """Ends it; a second time does nothing."""
        if self._output.closed:
            return
        if self._drain.is_alive():  # its output ends with the process
            os.kill(self._process_id, by)
        self._drain.join(10)
        assert not self._drain.is_alive(), "the board did not stop"
        if self._as_user is not None:
            self._as_user.wait(10)
        self._output.close()


@pytest.fixture(scope="module")
def module_boards() -> Iterator[dict[Path, BoardProcess]]:
    """The boards that tests of a module share: a page that has been there before opens faster."""
    boards: dict[Path, BoardProcess] = {}
    yield boards
    for board in boards.values():
        board.stop()


@pytest.fixture
def board_server(
    module_boards: dict[Path, BoardProcess], tmp_path: Path
) -> Iterator[Callable[..., BoardProcess]]:
    """Starts boards: board_server(logdir, *arguments).url

    Tests of a module share the board of a logdir that outlives them; `alone` gives a test its own,
    as it needs to stop the board or to change the logdir.
    """
    started: list[BoardProcess] = []

    def start(
        logdir: Path,
        *arguments: str,
        port: int = 0,
        test_hooks: bool = True,
        alone: bool = False,
    ) -> BoardProcess:
        lasts = logdir != tmp_path and tmp_path not in logdir.parents
        if lasts and test_hooks and not (arguments or port or alone):
            if logdir not in module_boards:
                module_boards[logdir] = BoardProcess(logdir)
            return module_boards[logdir]
        started.append(BoardProcess(logdir, *arguments, port=port, test_hooks=test_hooks))
        return started[-1]

    yield start
    for board in started:
        board.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One Chromium for all tests of a session."""
    try:
        from playwright import sync_api
    except ImportError:
        # Without -m "not browser" these tests were requested: a skip would hide all pages.
        pytest.fail("playwright is not installed: pip install playwright, or run -m 'not browser'")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="session")
def lasting_page(browser: Any) -> Iterator[LastingPage]:
    lasting = LastingPage(browser)
    yield lasting
    lasting.close()


@pytest.fixture
def page(lasting_page: LastingPage) -> Iterator[Any]:
    """A page; a script error, a report of the content policy or a foreign request is a failure."""
    lent = lasting_page.lend()
    wrong: list[str] = []
    lent.on("pageerror", lambda error: wrong.append(f"script error: {error}"))
    lent.on(
        "console",
        lambda message: (
            wrong.append(f"console: {message.text}")
            if "Content Security Policy" in message.text
            else None
        ),
    )
    lent.on(
        "request",
        lambda request: (
            None
            if request.url.startswith(("http://localhost", "http://127.0.0.1", "blob:"))
            else wrong.append(f"foreign request: {request.url}")
        ),
    )
    yield lent
    lasting_page.take_back(lent)
    assert wrong == []
