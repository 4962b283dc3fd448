"""Hashes of labels, 64 bits each and whole arrays at once; the same on every machine and run."""

from __future__ import annotations

import hashlib

import numpy as np

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def text_hash(text: str) -> int:
    """Returns 64 bits of a text."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def mixed(x: np.ndarray) -> np.ndarray:
    """Returns x with each of its bits spread over all of them.

    Source: Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators".
    """
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return x ^ (x >> np.uint64(31))


def joined(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns one hash of the ordered pair a, b."""
    return mixed(a * _GOLDEN + mixed(b + _GOLDEN))


def summed(values: np.ndarray, at: np.ndarray, count: int) -> np.ndarray:
    """Returns the hash of the multiset of values that falls to each place 0..count-1."""
    out = np.zeros(count, np.uint64)
    np.add.at(out, at, mixed(values + _GOLDEN))
    return out
