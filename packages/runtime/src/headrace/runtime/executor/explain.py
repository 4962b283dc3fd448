"""`Step.explain()`: what a step does, as text."""

from __future__ import annotations

from typing import Any


def explain_static_step(step: Any) -> str:
    """Program, specialisations, memory and kernels of a step that is one kernel schedule."""
    if step.runner is None:
        return "program: nothing to run; every fetch is fed"
    count = len(step.runner.program.describe()["nodes"])
    lines = [f"program: {count} nodes in one segment, runs as one kernel schedule"]
    lines += explain_specialisations(step.runner)
    for overlapping in step.overlapping:
        lines.append("independent heavy kernels run at the same time:")
        lines += [f" {line}" for line in explain_dynamic_step(overlapping).splitlines()]
    return "\n".join(lines)


def explain_dynamic_step(step: Any) -> str:
    """Program, segments and native loops with their specialisations, memory and kernels."""
    lines = [
        f"program: {len(step.program.describe()['nodes'])} nodes, {len(step.runners)} segment(s), "
        "runs on the dynamic executor"
    ]
    for runner in step.runners:
        lines.append(f"segment {runner.number}:")
        lines += explain_specialisations(runner)
    for count, parts in step.loops:
        lines.append(f"native loop of {count} nodes:")
        for part, runner in parts:
            lines.append(f" {part}:")
            lines += [f" {line}" for line in explain_specialisations(runner)]
    return "\n".join(lines)


def explain_specialisations(runner: Any) -> list[str]:
    """A paragraph for each executable of one segment."""
    lines = []
    for result in runner.describe():
        lines.append(
            f"specialisation for {result['inputs'] or 'no inputs'}, {result['threads']} thread(s): "
            f"{result['entries']} kernels, {result['folded']} folded, {result['fused']} fused; "
            f"arena {result['arena_bytes']} bytes for "
            f"{result['intermediate_bytes']} bytes of intermediates; "
            f"{result['flops']:.3g} flops, {result['bytes_moved']:.3g} bytes moved"
        )
        for kernel, count in sorted(result["kernels"].items()):
            lines.append(f"  {count:5d}  {kernel}")
        for nodes in result["fused_nodes"]:
            lines.append(f"         made of {nodes}")
    if not lines:
        lines.append("no specialisation yet: it has not run")
    return lines
