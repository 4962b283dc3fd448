"""Graphs as the page shows them: scopes, lifted edges, structure, folds, shapes, costs."""
