"""What master and workers decide: events in, instructions out; no I/O, no clock, no threads."""
