"""Framing, windows and transforms of signals."""
