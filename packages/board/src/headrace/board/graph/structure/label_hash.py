"""64-bit hashes of labels, vectorized; the same on every machine and in every run."""

from __future__ import annotations

import hashlib

import numpy as np

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def text_hash(text: str) -> int:
    """Returns a 64-bit hash of a text."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def mixed(x: np.ndarray) -> np.ndarray:
    """Returns x with every input bit mixed into all output bits.

    Source: Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators".
    """
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return x ^ (x >> np.uint64(31))


def joined(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns a hash of the ordered pair (a, b)."""
    return mixed(a * _GOLDEN + mixed(b + _GOLDEN))


def summed(values: np.ndarray, at: np.ndarray, count: int) -> np.ndarray:
    """Returns, for each place 0 to count - 1, a hash of the multiset of its values."""
    out = np.zeros(count, np.uint64)
    np.add.at(out, at, mixed(values + _GOLDEN))
    return out
