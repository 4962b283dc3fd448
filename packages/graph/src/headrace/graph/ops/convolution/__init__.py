"""Convolutions, biases and patches."""
