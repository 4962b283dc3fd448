"""Which tasks a cluster has, and where they are."""
