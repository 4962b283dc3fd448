"""A task of a cluster: worker, master, and the port that they serve."""
