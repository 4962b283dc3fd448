"""Flags, logging, files and compatibility switches, as in TensorFlow 1.x."""
