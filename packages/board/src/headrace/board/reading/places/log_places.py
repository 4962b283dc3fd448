"""Where logs lie: a folder, a URL, or several of them with names, as `--logdir` gives them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

Place = str | os.PathLike[str]

_NAMED = re.compile(r"^([^:/,]+):(?!//)(.+)$", re.S)


def parse_logdir(text: str) -> Place | dict[str, Place]:
    """Parses `path`, `URL`, or `name:place,name:place`; a place without a name has that of its end.

    A text that is the path of something that exists is that path, even with a colon or a comma.

    Raises: ValueError if a place is empty, or two have the same name.
    """
    if os.path.exists(text) or ("," not in text and _NAMED.match(text) is None):
        return text
    places: dict[str, Place] = {}
    for part in text.split(","):
        found = _NAMED.match(part.strip())
        name, place = (found[1], found[2]) if found else ("", part.strip())
        if not place:
            raise ValueError(f"{text!r} has an empty place: write name:path,name:path")
        name = name or name_of_place(place)
        if name in places:
            raise ValueError(f"two places of {text!r} are named {name!r}: write name:path")
        places[name] = place
    return places


def name_of_place(place: Place) -> str:
    """Returns the last part of a path or URL."""
    text = os.fspath(place)
    if "://" in text:
        return text.rstrip("/").rpartition("/")[2] or text
    return os.path.basename(os.path.abspath(text))


def title_of(logdir: Place | Mapping[str, Place]) -> str:
    """Returns the names of the places, for pages: they must not see the paths."""
    return ", ".join(logdir) if isinstance(logdir, Mapping) else name_of_place(logdir)
