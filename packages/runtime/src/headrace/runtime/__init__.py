"""Run a GraphDef on one machine."""

from headrace.runtime.session import openmp_wait_policy as openmp_wait_policy
from headrace.runtime.session.loaded_graph import LoadedGraph as LoadedGraph
from headrace.runtime.session.loaded_graph import TensorSpec as TensorSpec
from headrace.runtime.session.loaded_graph import load_graph as load_graph
