"""Checkpoints: saving and restoring variables."""
