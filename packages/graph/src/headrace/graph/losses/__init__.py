"""Losses that are weighted, reduced and collected: `hr.losses`."""
