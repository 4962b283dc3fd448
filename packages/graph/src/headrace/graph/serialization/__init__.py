"""Import and export of graphs: GraphDef and MetaGraphDef."""
