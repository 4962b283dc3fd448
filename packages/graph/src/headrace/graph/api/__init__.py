"""The table of public names, and how `hr.<name>` finds its object in it."""
