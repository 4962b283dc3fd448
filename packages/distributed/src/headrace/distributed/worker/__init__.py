"""What a task does for the masters of the cluster."""
