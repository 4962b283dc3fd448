"""Calls between processes: channels, credentials, deadlines, errors, and the making of links."""
