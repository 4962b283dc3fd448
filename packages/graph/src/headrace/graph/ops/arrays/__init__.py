"""Array ops: creation, shapes, joining, order of elements."""
