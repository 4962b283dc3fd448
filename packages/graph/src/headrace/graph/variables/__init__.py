"""Variables, their scopes and initializers."""

from headrace.graph.variables import ref_variable as ref_variable
from headrace.graph.variables import resource_variable as resource_variable
