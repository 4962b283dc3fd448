"""Graphs as messages and back: GraphDef and MetaGraphDef."""
