"""Settings of the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.distributed.rpc.links import interface_of
from headrace.distributed.rpc.settings import Settings, settings_from_environment
from headrace.formats.errors import InvalidArgumentError, NotFoundError


def test_defaults() -> None:
    assert settings_from_environment("grpc", {}) == Settings()


def test_the_transport_of_the_protocol_gives_way_to_the_variable() -> None:
    assert settings_from_environment("grpc+tcp", {}).transport == "tcp"
    variables = {"HEADRACE_TRANSPORT": "grpc+uds"}
    assert settings_from_environment("grpc+tcp", variables).transport == "uds"
    assert settings_from_environment("grpc", {"HEADRACE_TRANSPORT": "shm"}).transport == "shm"


def test_a_token_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("abc\n")
    assert (
        settings_from_environment("grpc", {"HEADRACE_CLUSTER_TOKEN_FILE": str(path)}).token
        == b"abc"
    )
    assert settings_from_environment("grpc", {"HEADRACE_CLUSTER_TOKEN": "x"}).token == b"x"


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"HEADRACE_TRANSPORT": "rdma"}, "not a transport"),
        ({"HEADRACE_HEARTBEAT_S": "soon"}, "must be a number"),
        ({"HEADRACE_DEAD_AFTER_S": "0"}, "between"),
        ({"HEADRACE_SESSION_GRACE_S": "nan"}, "between"),
        ({"HEADRACE_INSECURE": "yes"}, "0 or 1"),
        ({"HEADRACE_CLUSTER_TOKEN": "a", "HEADRACE_CLUSTER_TOKEN_FILE": "b"}, "both set"),
        ({"HEADRACE_TLS_CERT": "a"}, "HEADRACE_TLS_KEY is not set"),
    ],
)
def test_what_is_wrong_is_named(variables: dict[str, str], why: str) -> None:
    with pytest.raises(InvalidArgumentError, match=why):
        settings_from_environment("grpc", variables)


def test_a_missing_or_empty_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="HEADRACE_CLUSTER_TOKEN_FILE: /nowhere"):
        settings_from_environment("grpc", {"HEADRACE_CLUSTER_TOKEN_FILE": "/nowhere"})
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(InvalidArgumentError, match="empty"):
        variables = {"HEADRACE_CLUSTER_TOKEN_FILE": str(tmp_path / "empty")}
        settings_from_environment("grpc", variables)


@pytest.mark.parametrize(
    ("address", "settings", "interface"),
    [
        ("localhost:1", Settings(), "127.0.0.1"),
        ("127.0.0.3:1", Settings(), "127.0.0.3"),
        ("[::1]:1", Settings(), "::1"),
        ("ps0:1", Settings(token=b"t"), "ps0"),
        ("10.1.2.3:1", Settings(insecure=True), "10.1.2.3"),
        ("ps0:1", Settings(bind="127.0.0.1"), "127.0.0.1"),
        ("ps0:1", Settings(token=b"t", bind="0.0.0.0"), "0.0.0.0"),
    ],
)
def test_the_interface_of_an_address(address: str, settings: Settings, interface: str) -> None:
    assert interface_of(address, settings) == interface


@pytest.mark.parametrize("address", ["ps0:1", "10.1.2.3:1", "[2001:db8::1]:1"])
def test_others_reach_a_server_only_with_credentials(address: str) -> None:
    with pytest.raises(InvalidArgumentError, match="HEADRACE_CLUSTER_TOKEN"):
        interface_of(address, Settings())
