"""What shape the outputs of a node have: one function a rule, symbolic, over plain tuples.

The same rules stand in C, for shapes that are complete, in formats' headrace/shape_rules/*.h. The
texts of their errors are the same too, and a test of the repository fuzzes one against the other.
"""
