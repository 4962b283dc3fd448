"""Saving and restoring variables."""
