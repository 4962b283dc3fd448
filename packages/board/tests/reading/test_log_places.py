"""`--logdir` names one folder, a URL, or several places."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.board.reading.places.log_places import parse_logdir, title_of


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("runs", "runs"),
        ("s3://bucket/runs", "s3://bucket/runs"),
        ("a:runs", {"a": "runs"}),
        ("a:x/runs,b:/y", {"a": "x/runs", "b": "/y"}),
        ("a:s3://bucket/r,b:gs://c", {"a": "s3://bucket/r", "b": "gs://c"}),
        ("s3://bucket/r,/logs/now/", {"r": "s3://bucket/r", "now": "/logs/now/"}),
    ],
)
def test_places_are_read(text: str, places: object) -> None:
    assert parse_logdir(text) == places


@pytest.mark.parametrize("text", ["a:x,a:y", "x/r,y/r", "a:x,", ","])
def test_places_without_names_of_their_own_are_errors(text: str) -> None:
    with pytest.raises(ValueError, match="name:path"):
        parse_logdir(text)


def test_a_path_that_exists_is_itself(tmp_path: Path) -> None:
    odd = tmp_path / "a:b,c"
    odd.mkdir()
    assert parse_logdir(str(odd)) == str(odd)


def test_pages_see_names_only() -> None:
    assert title_of({"a": "/secret/x", "b": "s3://bucket/y"}) == "a, b"
    assert title_of("s3://bucket/runs/") == "runs"
    assert title_of("/secret/x") == "x"
