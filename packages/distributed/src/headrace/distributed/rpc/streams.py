"""Links whose frames travel in a gRPC stream: slower than a socket, but they go wherever calls go.

The first message of each side is a line of the handshake; the token was checked with the call.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc

from headrace.distributed.native.endpoint import Endpoint, Stream
from headrace.distributed.rpc.channels import Channels
from headrace.distributed.rpc.deadline import Deadline
from headrace.distributed.rpc.hello import PROTOCOL_VERSION, Party
from headrace.distributed.rpc.status import abort, from_call
from headrace.distributed.rpc.token import call_metadata
from headrace.formats import errors

_log = logging.getLogger("headrace.distributed")
_SLICE_S = 0.5  # between looks whether the other side has gone

METHOD = "/headrace.WorkerService/Stream"


def dial_stream(
    endpoint: Endpoint, channels: Channels, address: str, to: int, deadline: Deadline
) -> None:
    """Makes a link to a task over a stream.

    Args:
      to: the incarnation that is meant.
    Raises: errors.OpError, AbortedError if the task has been restarted.
    """
    first = {
        "version": PROTOCOL_VERSION,
        "task": endpoint.name,
        "incarnation": endpoint.incarnation,
        "to": to,
    }
    made: list[Stream] = []
    ready = threading.Event()

    def requests() -> Iterator[bytes]:
        yield json.dumps(first).encode()
        ready.wait()
        if made:
            yield from _outgoing(made[0])

    call: Any = channels.get(address).stream_stream(METHOD)(
        requests(), metadata=call_metadata(channels.settings.token)
    )
    timer = threading.Timer(deadline.left_s, call.cancel)
    timer.daemon = True
    timer.start()
    try:
        greeting = json.loads(next(call))
        peer = Party(str(greeting["task"]), int(greeting["incarnation"]))
    except grpc.RpcError as error:
        ready.set()
        raise from_call(error, f"{address}, Stream") from None
    except (StopIteration, ValueError, KeyError):
        ready.set()
        call.cancel()
        raise errors.UnavailableError(None, None, f"{address}: the stream ended at once") from None
    finally:
        timer.cancel()
    stream = endpoint.add_stream(peer.incarnation, peer.task)
    if stream is None:
        ready.set()
        call.cancel()
        raise errors.CancelledError(None, None, f"{endpoint.name} was stopped")
    made.append(stream)
    ready.set()
    threading.Thread(
        target=_receive, args=(stream, call, call.cancel), name="headrace_stream", daemon=True
    ).start()


def accept_stream(
    endpoint: Endpoint,
    requests: Iterator[bytes],
    context: grpc.ServicerContext,
    on_link: Callable[[int], None],
) -> Iterator[bytes]:
    """Serves the method Stream: yields the bytes for the dialling side.

    Args:
      on_link: gets the incarnation of the other side once the link is there.
    """
    try:
        peer = _first(endpoint, next(requests, b""))
    except errors.OpError as error:
        abort(context, error)
        return
    stream = endpoint.add_stream(peer.incarnation, peer.task)
    if stream is None:
        abort(context, errors.UnavailableError(None, None, f"{endpoint.name} was stopped"))
        return
    context.add_callback(lambda: stream.close("the stream has ended"))
    threading.Thread(
        target=_receive, args=(stream, requests, None), name="headrace_stream", daemon=True
    ).start()
    on_link(peer.incarnation)
    yield json.dumps({"task": endpoint.name, "incarnation": endpoint.incarnation}).encode()
    yield from _outgoing(stream)


def _first(endpoint: Endpoint, data: bytes) -> Party:
    try:
        said = json.loads(data)
        version, to = said["version"], said["to"]
        peer = Party(str(said["task"])[:256], int(said["incarnation"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise errors.InvalidArgumentError(
            None, None, f"{endpoint.name}: the stream does not begin with a handshake"
        ) from None
    if version != PROTOCOL_VERSION:
        raise errors.FailedPreconditionError(
            None, None, f"{endpoint.name} speaks version {PROTOCOL_VERSION} of the protocol, the "
            f"other side version {version!r}: install the same headrace-distributed on all hosts",
        )  # fmt: skip
    if to != endpoint.incarnation or not 0 < peer.incarnation < 1 << 63:
        raise errors.AbortedError(
            None, None, f"{endpoint.name} has been restarted: {to} was expected, it is now "
            f"{endpoint.incarnation}",
        )  # fmt: skip
    return peer


def _outgoing(stream: Stream) -> Iterator[bytes]:
    try:
        while True:
            data = stream.next(_SLICE_S)
            if data is not None:
                yield data
    except errors.UnavailableError:
        return


def _receive(stream: Stream, messages: Iterator[bytes], end: Callable[[], Any] | None) -> None:
    """Feeds what arrives to the link, until either ends."""
    reason = "the other side has closed the stream"
    try:
        for data in messages:
            stream.feed(data)
            if stream.closed:
                break
    except grpc.RpcError as error:
        reason = f"the stream has failed: {_text(error)}"
    except Exception as error:  # noqa: BLE001 - gRPC raises plain exceptions on the serving side
        reason = f"the stream has failed: {error}"
    finally:
        stream.close(reason)
        if end is not None:
            end()


def _text(error: Any) -> str:
    # On the serving side an ended call raises one that says nothing.
    return f"{error.code().name}: {error.details()}" if hasattr(error, "code") else "it has ended"
