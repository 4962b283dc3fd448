"""Data sets of TensorFlow 1.x's tutorials."""
