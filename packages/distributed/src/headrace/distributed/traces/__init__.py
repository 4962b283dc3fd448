"""Traces of steps over several tasks."""
