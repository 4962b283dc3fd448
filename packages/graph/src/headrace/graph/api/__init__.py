"""The table of public names, and the lookup of `hr.<name>` in it."""
