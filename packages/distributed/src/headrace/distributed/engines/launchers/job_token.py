"""The secret that the tasks of one job share."""

from __future__ import annotations

import secrets

from headrace.distributed.engines.resolvers.variables import Environment, first_set

TOKEN = "HEADRACE_CLUSTER_TOKEN"
_CREDENTIALS = (TOKEN, "HEADRACE_CLUSTER_TOKEN_FILE", "HEADRACE_TLS_CERT", "HEADRACE_INSECURE")


def token_variables(environ: Environment) -> dict[str, str]:
    """Returns a variable with a new token, for jobs on several hosts.

    Args:
      environ: that of the launcher; where it has a token or certificates, the job gets these.
    """
    if first_set(environ, _CREDENTIALS):
        return {}
    return {TOKEN: secrets.token_hex(32)}
