"""Run a GraphDef on one machine."""

from headrace.runtime.session import team_waiting as team_waiting
from headrace.runtime.session.loaded_graph import LoadedGraph as LoadedGraph
from headrace.runtime.session.loaded_graph import TensorSpec as TensorSpec
from headrace.runtime.session.loaded_graph import load_graph as load_graph
