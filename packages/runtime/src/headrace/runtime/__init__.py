"""Run a GraphDef on one machine."""
