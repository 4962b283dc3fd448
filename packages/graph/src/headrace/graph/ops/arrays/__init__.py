"""Arrays: shapes, parts, order."""
