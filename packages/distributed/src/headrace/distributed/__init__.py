"""Headrace on several tasks."""

import os

# Otherwise gRPC writes a line to stderr for each connection that a peer closes. It reads the
# variable when it is imported.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
