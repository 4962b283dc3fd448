"""Sessions of clients: over the master of a server in this process, or of another one."""
