"""Order, branches and loops."""
