"""A device with memory of its own, for Headrace."""
