"""The way from a call with Python values to a node."""
