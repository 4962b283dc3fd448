"""Run a GraphDef on one machine."""

from headrace.runtime import team_waiting as team_waiting
