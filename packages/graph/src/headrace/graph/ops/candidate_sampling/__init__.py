"""Candidate sampling and sampled losses."""
