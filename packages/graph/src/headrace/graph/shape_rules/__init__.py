"""Shape inference for partially known shapes: one function per rule, over plain shapes.

headrace/shape_rules/*.h of headrace-formats implements the same rules in C, for complete shapes,
with the same error messages. tests/contract compares both with random shapes.
"""
