"""Clusters: their description, servers of tasks, and devices of replicas."""
