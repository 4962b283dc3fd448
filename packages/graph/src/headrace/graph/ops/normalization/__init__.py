"""Normalization and moments."""
