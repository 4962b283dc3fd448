"""Control flow: ordering, conditionals and loops."""
