"""The secret of a cluster in calls and handshakes. It is never sent itself."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from typing import Any

import grpc

TOKEN_KEY = "headrace_token"


def proof(token: bytes, label: str, *parts: bytes) -> str:
    """Returns what only who knows the token can say about the parts, for one use of it."""
    digest = hmac.new(token, label.encode(), hashlib.sha256)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def same_proof(given: object, expected: str) -> bool:
    """Compares in constant time."""
    return isinstance(given, str) and hmac.compare_digest(given.encode(), expected.encode())


def call_metadata(token: bytes) -> tuple[tuple[str, str], ...]:
    """Returns the metadata of a call to a server of the cluster."""
    return ((TOKEN_KEY, proof(token, "call")),) if token else ()


class TokenCheck(grpc.ServerInterceptor):
    """Refuses calls without the cluster's token, whatever the method."""

    def __init__(self, token: bytes) -> None:
        self._expected = proof(token, "call") if token else ""
        self._refusal = grpc.unary_unary_rpc_method_handler(_refuse)
        self._stream_refusal = grpc.stream_stream_rpc_method_handler(_refuse)

    def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
        """Returns the handler of a call, or one that refuses it."""
        handler = continuation(details)
        if not self._expected:
            return handler
        for key, value in details.invocation_metadata:
            if key == TOKEN_KEY and same_proof(value, self._expected):
                return handler
        streams = handler is not None and handler.request_streaming
        return self._stream_refusal if streams else self._refusal


def _refuse(request: Any, context: grpc.ServicerContext) -> Any:
    context.abort(
        grpc.StatusCode.UNAUTHENTICATED,
        "the call has no token of this cluster, or another cluster's: set HEADRACE_CLUSTER_TOKEN "
        "or HEADRACE_CLUSTER_TOKEN_FILE to the same in all processes",
    )
