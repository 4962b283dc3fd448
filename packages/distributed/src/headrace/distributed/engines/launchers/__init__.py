"""Starting a training script with its parameter servers on an engine."""
