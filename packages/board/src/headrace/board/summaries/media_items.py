"""The images or sounds in one Summary.Value, and the names under which browsers ask for them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import struct
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

from headrace.board.summaries.tensor_strings import strings_of

_PLACE = struct.Struct("<iqqii?")
_MAC_BYTES = 16
_MOST_ITEMS = 10_000


@dataclass(frozen=True)
class Place:
    """Where an item lies: a record, a value of its summary, a sound or image of that."""

    file: int
    offset: int
    length: int
    value: int
    sample: int
    sound: bool


class BlobNames:
    """Names of items, signed with a key of this process: nobody else can make one.

    Without that a caller could choose file, offset and length, and read what is no item.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key or secrets.token_bytes(32)

    def name(self, place: Place) -> str:
        """Returns the name of a place, fit for a URL."""
        packed = _PLACE.pack(*astuple(place))
        return base64.urlsafe_b64encode(packed + self._mac(packed)).rstrip(b"=").decode()

    def place(self, name: str) -> Place | None:
        """Returns the place of a name; None if we did not make it."""
        try:
            raw = base64.b64decode(
                (name + "=" * (-len(name) % 4)).encode("ascii"), altchars=b"-_", validate=True
            )
        except (ValueError, UnicodeEncodeError):
            return None
        packed, mac = raw[: _PLACE.size], raw[_PLACE.size :]
        if len(packed) != _PLACE.size or not hmac.compare_digest(mac, self._mac(packed)):
            return None
        return Place(*_PLACE.unpack(packed))

    def _mac(self, packed: bytes) -> bytes:
        return hmac.new(self._key, packed, hashlib.sha256).digest()[:_MAC_BYTES]


@dataclass(frozen=True)
class Item:
    """One image or sound: its bytes, and what the log says of it (0 or "" where nothing)."""

    data: bytes
    width: int = 0
    height: int = 0
    label: str = ""
    sample_rate: float = 0.0
    frames: int = 0


def items_of(value: Any, kind: str) -> list[Item]:
    """Returns the items of a Summary.Value; none where it is not of that kind.

    Args:
      kind: "image": a legacy image, or a tensor of strings [width, height, image, image, ...].
        "audio": legacy audio, or a tensor of strings [k] or [k, 1], or [k, 2] with a label each.
    """
    what = value.WhichOneof("value")
    if what == "image":
        image = value.image
        return [Item(image.encoded_image_string, max(0, image.width), max(0, image.height))]
    if what == "audio":
        audio = value.audio
        return [Item(audio.encoded_audio_string, sample_rate=max(0.0, audio.sample_rate),
                     frames=max(0, audio.length_frames))]  # fmt: skip
    if what != "tensor":
        return []
    strings, shape, _ = strings_of(value.tensor, 2 * _MOST_ITEMS)
    return _image_strings(strings) if kind == "image" else _audio_strings(strings, shape)


def _image_strings(strings: Sequence[bytes]) -> list[Item]:
    if len(strings) < 2:
        return []
    width, height = (int(s) if s.isdigit() and len(s) < 10 else 0 for s in strings[:2])
    return [Item(data, width, height) for data in strings[2 : 2 + _MOST_ITEMS]]


def _audio_strings(strings: Sequence[bytes], shape: list[int]) -> list[Item]:
    if len(shape) == 2 and shape[1] == 2:
        pairs = zip(strings[::2], strings[1::2])
        return [Item(data, label=label.decode("utf-8", "replace")) for data, label in pairs]
    return [Item(data) for data in strings[:_MOST_ITEMS]]
