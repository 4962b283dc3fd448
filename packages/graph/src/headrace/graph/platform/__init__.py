"""Flags, logs, files and switches of a program, as in TensorFlow 1.x."""
