"""Candidate sampling, and the losses that use it."""
