"""Extends sessions with damaged GraphDefs from stdin and runs what is left; prints what became."""

from __future__ import annotations

import struct
import sys
from collections import Counter

from headrace.formats.errors import OpError
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.run_pb2 import RunOptions
from headrace.formats.services import SESSIONS, find_service

# Damage can make a loop that never ends, or a dequeue that nobody serves.
_SHORT = RunOptions(timeout_in_ms=200).SerializeToString()


def tried(wire: bytes, fetches: list[str]) -> str:
    """How far a session comes with a GraphDef."""
    session = find_service(SESSIONS, "local")("", b"")
    came = "refused"
    try:
        session.extend(wire)
        came = "extended"
        for fetch in fetches:
            try:
                session.prepare([], [fetch], []).run([], _SHORT)
                came = "ran"
            except OpError:
                pass
    except OpError:
        pass
    finally:
        session.close()
    return came


def main() -> None:
    """Reads messages of a length and that many bytes, to the end."""
    seen: Counter[str] = Counter()
    stream = sys.stdin.buffer
    while head := stream.read(4):
        wire = stream.read(struct.unpack("<I", head)[0])
        print(wire.hex(), file=sys.stderr, flush=True)  # the last one is to blame for a crash
        try:
            names = [f"{node.name}:0" for node in GraphDef.FromString(wire).node]
        except Exception:  # noqa: BLE001 - protobuf refuses more than the session does
            names = []
        seen[tried(wire, names[-12:])] += 1
    print(dict(seen))


main()
