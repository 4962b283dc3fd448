"""The arithmetic of Headrace; knows no graph and no executor."""
