"""gRPC channels: one per address, with keepalive and without limits on messages."""

from __future__ import annotations

import threading
from typing import Any

import grpc

from headrace.distributed.rpc.settings import Settings, Tls
from headrace.distributed.rpc.status import METADATA_LIMIT

_KEEPALIVE_MS = 10_000
_KEEPALIVE_TIMEOUT_MS = 5_000

_COMMON_OPTIONS = [
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_metadata_size", METADATA_LIMIT),
    ("grpc.absolute_max_metadata_size", METADATA_LIMIT),
    ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
    ("grpc.keepalive_timeout_ms", _KEEPALIVE_TIMEOUT_MS),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
]
_CHANNEL_OPTIONS = [
    *_COMMON_OPTIONS,
    # The tasks of a cluster reach each other directly.
    ("grpc.enable_http_proxy", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1000),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # A channel is not shared with other users of gRPC in the process, which may close theirs.
    ("grpc.use_local_subchannel_pool", 1),
]
SERVER_OPTIONS = [
    *_COMMON_OPTIONS,
    # With SO_REUSEPORT a second server of a port would get some of the first one's calls.
    ("grpc.so_reuseport", 0),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", _KEEPALIVE_TIMEOUT_MS),
    ("grpc.http2.max_ping_strikes", 0),
]


class Channels:
    """The channels of a process with the same settings, by address."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._lock = threading.Lock()
        self._by_address: dict[str, grpc.Channel] = {}
        self._closed = False

    def get(self, address: str) -> grpc.Channel:
        """Returns the channel to "host:port"; it connects when it is used."""
        with self._lock:
            if self._closed:
                raise RuntimeError("the channels were closed")
            channel = self._by_address.get(address)
            if channel is None:
                channel = self._by_address[address] = _open(address, self.settings.tls)
            return channel

    def renew(self, address: str) -> None:
        """Lets the next call use a new channel; calls in progress keep the old one."""
        with self._lock:
            self._by_address.pop(address, None)

    def close(self) -> None:
        """Closes all; calls in progress end with CancelledError."""
        with self._lock:
            self._closed = True
            channels, self._by_address = list(self._by_address.values()), {}
        for channel in channels:
            channel.close()


def _open(address: str, tls: Tls | None) -> grpc.Channel:
    options: list[tuple[str, Any]] = list(_CHANNEL_OPTIONS)
    if tls is None:
        return grpc.insecure_channel(address, options)
    if tls.name:
        options.append(("grpc.ssl_target_name_override", tls.name))
    credentials = grpc.ssl_channel_credentials(tls.authority, tls.key, tls.certificate)
    return grpc.secure_channel(address, credentials, options)


def server_credentials(tls: Tls) -> grpc.ServerCredentials:
    """Returns credentials by which a server asks its clients for certificates too."""
    return grpc.ssl_server_credentials(
        [(tls.key, tls.certificate)], tls.authority, require_client_auth=True
    )
