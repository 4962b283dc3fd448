"""Convolutions, bias_add and patches."""
