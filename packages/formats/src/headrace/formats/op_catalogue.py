"""The op catalogue: signature, OpDef and family of each op, by name.

The signatures are lines of ops/<family>.ops. The first lookup indexes the lines by name; a line is
parsed when its op is first looked up.
"""

from __future__ import annotations

import os
import re

from headrace.formats.fork_lock import ForkLock
from headrace.formats.op_def_signature import from_op_def, to_op_def
from headrace.formats.op_signature import NO_DEFAULT, Arg, Attr, Signature
from headrace.formats.signature_language import parse_signature

TYPE_CHECKING = False  # importing typing takes longer than the rest of this module
if TYPE_CHECKING:
    from headrace.formats.proto.op_pb2 import OpDef

__all__ = [
    "ANY_RANK",
    "NO_DEFAULT",
    "Arg",
    "Attr",
    "Signature",
    "built_in_names",
    "family",
    "find",
    "input_ranks",
    "names",
    "op_def",
    "register",
    "signature",
]

_FOLDER = os.path.join(os.path.dirname(__file__), "ops")
_ENTRY = re.compile(r"^([A-Za-z_]\w*)\(.*(?:(?<=\\)\n.*)*", re.MULTILINE)
ANY_RANK = 2**9 - 1  # bit n: rank n is allowed; bit 8: rank 8 and above
FOREIGN = "foreign"  # the family of custom ops, which other libraries register

_lock = ForkLock()
_lines: dict[str, tuple[str, str]] = {}  # name -> (family, text); empty until the first lookup
_parsed: dict[str, Signature] = {}
_ranks: dict[str, tuple[int, ...]] = {}
_foreign: dict[str, Signature] = {}
_foreign_read = False


def names() -> list[str]:
    """Returns the names of all ops, sorted, with the custom ops of installed libraries."""
    _read_entry_points()
    return sorted({*_index(), *_foreign})


def built_in_names() -> list[str]:
    """The names of the catalogue's own ops, sorted. Needs neither NumPy nor protobuf."""
    return sorted(_index())


def find(name: str) -> Signature | None:
    """Returns the signature of an op, or None for an unknown op."""
    found = _parsed.get(name)
    if found is not None:
        return found
    line = _index().get(name)
    if line is not None:
        found = _parsed[name] = parse_signature(line[1])
        return found
    _read_entry_points()
    return _foreign.get(name)


def signature(name: str) -> Signature:
    """Returns the signature of an op.

    Raises: NotFoundError for an unknown op; the message suggests similar names.
    """
    found = find(name)
    if found is not None:
        return found
    from difflib import get_close_matches

    from headrace.formats.errors import NotFoundError

    near = get_close_matches(name, names(), n=3)
    remedy = f"did you mean {' or '.join(near)}?" if near else "install the library that defines it"
    raise NotFoundError(None, None, f"no op named {name!r} is in the catalogue: {remedy}")


def op_def(name: str) -> OpDef:
    """Returns a new OpDef message of an op.

    Raises: NotFoundError for an unknown op; the message suggests similar names.
    """
    return to_op_def(signature(name))


def family(name: str) -> str:
    """Returns the family of an op: the stem of the files that define and implement it.

    Returns: "matmul", "pooling", …; "foreign" for a custom op.
    Raises: NotFoundError for an unknown op; the message suggests similar names.
    """
    line = _index().get(name)
    if line is not None:
        return line[0]
    signature(name)
    return FOREIGN


def input_ranks(name: str) -> tuple[int, ...]:
    """Returns the ranks that the inputs of an op may have.

    Returns: a bit mask for each input of the signature, bit n for rank n; () if no input of the op
      is restricted.
    """
    if not _ranks:
        with _lock.current:
            _ranks.update(_read_ranks())
    return _ranks.get(name, ())


def _read_ranks() -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    with open(os.path.join(_FOLDER, "input.ranks"), encoding="utf-8") as stream:
        for line in stream:
            if not line.startswith("#"):
                op, *texts = line.split()
                bits = tuple(map(_rank_bits, texts))
                earlier = found.get(op, (ANY_RANK,) * len(bits))
                found[op] = tuple(a & b for a, b in zip(earlier, bits, strict=True))
    return found


def _rank_bits(text: str) -> int:
    """Parses "*", "2", "0-1", "3+" or "1,3" to a bit mask of ranks."""
    if text == "*":
        return ANY_RANK
    bits = 0
    for part in text.split(","):
        low, to, high = part.rstrip("+").partition("-")
        last = 8 if part.endswith("+") else int(high if to else low)
        bits |= sum(1 << rank for rank in range(int(low), last + 1))
    return bits


def register(op_list: bytes) -> list[str]:
    """Adds the custom ops of a serialized OpList; built-in ops cannot be replaced.

    Returns: the names of the ops.
    Raises: InvalidArgumentError for bytes that are not an OpList; AlreadyExistsError for a name
      with another signature. In both cases nothing is added.
    """
    from google.protobuf.message import DecodeError

    from headrace.formats.errors import AlreadyExistsError, InvalidArgumentError
    from headrace.formats.proto.op_pb2 import OpList

    try:
        added = [from_op_def(message) for message in OpList.FromString(op_list).op]
    except (DecodeError, UnicodeDecodeError) as error:
        raise InvalidArgumentError(None, None, f"not an OpList message: {error}") from error
    with _lock.current:
        for new in added:
            old = _foreign.get(new.name)
            if new.name in _index() or (old is not None and old != new):
                raise AlreadyExistsError(
                    None,
                    None,
                    f"op {new.name!r} is already in the catalogue: rename the new op",
                )
        _foreign.update((new.name, new) for new in added)
    return [new.name for new in added]


def _index() -> dict[str, tuple[str, str]]:
    if not _lines:
        with _lock.current:
            if not _lines:
                _lines.update(_read_lines())
    return _lines


def _read_lines() -> dict[str, tuple[str, str]]:
    lines: dict[str, tuple[str, str]] = {}
    for file in sorted(os.listdir(_FOLDER)):
        stem, extension = os.path.splitext(file)
        if extension == ".ops":
            with open(os.path.join(_FOLDER, file), encoding="utf-8") as stream:
                for match in _ENTRY.finditer(stream.read()):
                    lines[match.group(1)] = (stem, match.group())
    return lines


def _read_entry_points() -> None:
    """Registers the ops of installed libraries, once, at the first lookup of an unknown name."""
    global _foreign_read
    if _foreign_read:
        return
    with _lock.current:
        if _foreign_read:
            return
        _foreign_read = True
        from headrace.formats.services import OPS, find_service, service_names

        for name in service_names(OPS):
            offer = find_service(OPS, name)
            register(offer if isinstance(offer, bytes) else offer())
