"""Jobs on several hosts share a secret."""

from __future__ import annotations

import pytest

from headrace.distributed.engines.launchers.job_token import token_variables


def test_each_job_has_a_token_of_its_own() -> None:
    first, second = token_variables({}), token_variables({})
    assert list(first) == list(second) == ["HEADRACE_CLUSTER_TOKEN"]
    assert first != second
    assert len(first["HEADRACE_CLUSTER_TOKEN"]) == 64


@pytest.mark.parametrize(
    "name", ["HEADRACE_CLUSTER_TOKEN", "HEADRACE_CLUSTER_TOKEN_FILE", "HEADRACE_TLS_CERT"]
)
def test_credentials_of_the_user_are_used(name: str) -> None:
    assert token_variables({name: "x"}) == {}
