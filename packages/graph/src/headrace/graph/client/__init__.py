"""The session client."""
