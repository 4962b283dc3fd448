"""What a task does for clients: sessions over the tasks of the cluster."""
