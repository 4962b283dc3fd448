"""The display for notebooks."""

from __future__ import annotations

import re
import urllib.request
from pathlib import Path

import headrace.board


def test_a_display_frames_a_board_that_answers(tmp_path: Path) -> None:
    shown = headrace.board.show(tmp_path, height=500)
    html = shown._repr_html_()
    assert 'height="500"' in html
    address = re.search(r'src="(http://localhost:\d+/)"', html)
    assert address is not None
    with urllib.request.urlopen(address[1], timeout=10) as page:
        policy = page.headers["Content-Security-Policy"]
    assert "frame-ancestors http://localhost:* http://127.0.0.1:*" in policy
    assert headrace.board.show(tmp_path).url == shown.url
