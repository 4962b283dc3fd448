"""Which cluster a process belongs to, read from the environment that an engine gives it."""
