"""Parsing of Example messages, CSV, raw bytes and serialized tensors."""
