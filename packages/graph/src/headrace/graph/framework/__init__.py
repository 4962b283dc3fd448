"""Graphs, their nodes and tensors."""
