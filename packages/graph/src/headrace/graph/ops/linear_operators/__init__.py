"""Matrices that are known by their structure."""
