"""What a process uses to talk to others: token, certificates, plane of the links, times."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headrace.formats.errors import InvalidArgumentError, NotFoundError

# By the part of ServerDef.protocol behind "grpc+"; "auto" is the fastest that both ends have.
TRANSPORTS = ("auto", "shm", "uds", "tcp", "stream")

_TLS_VARIABLES = ("HEADRACE_TLS_CERT", "HEADRACE_TLS_KEY", "HEADRACE_TLS_CA")


@dataclass(frozen=True)
class Tls:
    """PEM files for mutual TLS, read.

    Attributes:
      certificate, key: of this process.
      authority: certificates of the authorities whose certificates are accepted.
      name: the name that the certificates of servers carry; empty: their host.
    """

    certificate: bytes
    key: bytes
    authority: bytes
    name: str = ""


@dataclass(frozen=True)
class Settings:
    """How a process talks to others.

    Attributes:
      token: the secret that all processes of a cluster share; empty: none.
      tls: certificates; None: no TLS.
      transport: one of TRANSPORTS.
      bind: the interface that servers listen on; empty: the host of their address.
      insecure: whether a server may listen beyond the loopback interface without token and TLS.
      heartbeat_s: after this time of silence a peer is asked for a sign of life.
      dead_after_s: after this time of silence it is taken for dead.
      session_grace_s: for how long a session outlives the link to who opened it.
      half_open: how many connections may be in the middle of a handshake.
    """

    token: bytes = b""
    tls: Tls | None = None
    transport: str = "auto"
    bind: str = ""
    insecure: bool = False
    heartbeat_s: float = 1.0
    dead_after_s: float = 5.0
    session_grace_s: float = 60.0
    half_open: int = 64


def settings_from_environment(
    protocol: str = "grpc", environment: Mapping[str, str] | None = None
) -> Settings:
    """Reads the settings from variables HEADRACE_* (README of the package).

    Args:
      protocol: a ServerDef's, "grpc" or "grpc+" with a transport, which is used unless
        HEADRACE_TRANSPORT is set.
      environment: os.environ if None.
    Raises: InvalidArgumentError for values that are none; NotFoundError for a missing file.
    """
    env = os.environ if environment is None else environment
    return Settings(
        token=_token(env),
        tls=_tls(env),
        transport=_transport(env.get("HEADRACE_TRANSPORT", "") or protocol),
        bind=env.get("HEADRACE_BIND", ""),
        insecure=_flag(env, "HEADRACE_INSECURE"),
        heartbeat_s=_seconds(env, "HEADRACE_HEARTBEAT_S", 1.0),
        dead_after_s=_seconds(env, "HEADRACE_DEAD_AFTER_S", 5.0),
        session_grace_s=_seconds(env, "HEADRACE_SESSION_GRACE_S", 60.0),
    )


def _token(env: Mapping[str, str]) -> bytes:
    token, path = env.get("HEADRACE_CLUSTER_TOKEN", ""), env.get("HEADRACE_CLUSTER_TOKEN_FILE", "")
    if token and path:
        raise _invalid("HEADRACE_CLUSTER_TOKEN and HEADRACE_CLUSTER_TOKEN_FILE are both set")
    if not path:
        return token.encode()
    found = _read(path, "HEADRACE_CLUSTER_TOKEN_FILE").strip()
    if not found:
        raise _invalid(f"the file {path!r} of HEADRACE_CLUSTER_TOKEN_FILE is empty")
    return found


def _tls(env: Mapping[str, str]) -> Tls | None:
    paths = [env.get(name, "") for name in _TLS_VARIABLES]
    if not any(paths):
        return None
    if not all(paths):
        missing = [name for name, path in zip(_TLS_VARIABLES, paths) if not path]
        raise _invalid(f"mutual TLS needs {', '.join(_TLS_VARIABLES)}; {missing[0]} is not set")
    certificate, key, authority = (_read(path, n) for n, path in zip(_TLS_VARIABLES, paths))
    return Tls(certificate, key, authority, env.get("HEADRACE_TLS_NAME", ""))


def _transport(given: str) -> str:
    name = given.removeprefix("grpc").removeprefix("+") or "auto"
    if name not in TRANSPORTS:
        known = ", ".join(["grpc", *(f"grpc+{t}" for t in TRANSPORTS[1:])])
        raise _invalid(f"{given!r} is not a transport (known: {known})")
    return name


def _flag(env: Mapping[str, str], name: str) -> bool:
    value = env.get(name, "0")
    if value not in ("0", "1", ""):
        raise _invalid(f"{name} is {value!r}; it must be 0 or 1")
    return value == "1"


def _seconds(env: Mapping[str, str], name: str, default: float) -> float:
    try:
        value = float(env.get(name, default))
    except ValueError:
        raise _invalid(f"{name} is {env[name]!r}; it must be a number of seconds") from None
    if not 0.01 <= value <= 1e6:
        raise _invalid(f"{name} is {value}; it must be between 0.01 and 1000000 seconds")
    return value


def _read(path: str, what: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise NotFoundError(None, None, f"{what}: {path}: {error.strerror}", path=path) from None


def _invalid(why: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, why)
