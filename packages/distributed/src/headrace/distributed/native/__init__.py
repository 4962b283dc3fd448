"""The step plane: links between tasks, and the steps on them."""
