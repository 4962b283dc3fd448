"""The text that char_lstm and word2vec learn: the Python standard library's source."""

from __future__ import annotations

import argparse
import collections
import hashlib
import os
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from resumable import UsageError, whole

ALPHABET = "\n" + "".join(map(chr, range(32, 127)))
LEFT_OUT = {"site-packages", "dist-packages", "test", "tests", "idle_test", "__pycache__"}
UNKNOWN = "?"  # stands for all words that are not in the vocabulary


def add_source(parser: argparse.ArgumentParser, characters: int) -> None:
    """Adds the options that name the text."""
    add = parser.add_argument
    library = sysconfig.get_paths()["stdlib"]
    add("--text", type=Path, default=Path(library), help="folder of .py files (this Python's own)")
    add("--characters", type=whole(1), default=characters, help=f"of the text ({characters})")


def read_text(options: argparse.Namespace) -> str:
    """Returns: the files of the folder, folder by folder, cut to the wished length.

    Characters outside of ALPHABET are left out.
    Raises: UsageError if the folder has no text.
    """
    kept, missing = [], options.characters
    for path in _files(options.text):
        if missing <= 0:
            break
        text = path.read_text(encoding="utf-8", errors="replace").expandtabs(4)
        kept.append(re.sub(r"[^\n -~]", "", text)[:missing])
        missing -= len(kept[-1])
    result = "".join(kept)
    if not result:
        raise UsageError(f"{options.text} has no .py file with text: name a folder with --text")
    return result


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - LEFT_OUT)
        yield from (Path(place, name) for name in sorted(names) if name.endswith(".py"))


def digest(text: str) -> str:
    """Returns: what tells this text from others in the settings of a training."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def codes_of(text: str) -> np.ndarray:
    """Returns: [n] int32, the places of the characters in ALPHABET."""
    table = np.zeros(127, np.int32)
    table[[ord(letter) for letter in ALPHABET]] = np.arange(len(ALPHABET))
    return table[np.frombuffer(text.encode("ascii"), np.uint8)]


def words_of(text: str, size: int) -> tuple[np.ndarray, list[str]]:
    """Splits a text into identifiers and words.

    Args:
      size: of the vocabulary at most, which has UNKNOWN first and then the most frequent words.
    Returns: [n] int32, the words' places in the vocabulary, and the vocabulary.
    """
    words = re.findall(r"[A-Za-z_][A-Za-z_0-9]*", text)
    counts = sorted(collections.Counter(words).items(), key=lambda item: (-item[1], item[0]))
    vocabulary = [UNKNOWN] + [word for word, _ in counts[: size - 1]]
    place: dict[str, int] = {word: i for i, word in enumerate(vocabulary)}
    return np.array([place.get(word, 0) for word in words], np.int32), vocabulary
