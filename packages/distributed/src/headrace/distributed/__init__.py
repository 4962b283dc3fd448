"""Headrace on several tasks."""
