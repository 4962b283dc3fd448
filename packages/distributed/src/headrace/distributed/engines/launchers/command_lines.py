"""The command lines of the launcher's own programs."""

from __future__ import annotations

import argparse

from headrace.distributed.engines.launchers.job_plan import JobPlan


def add_command(parser: argparse.ArgumentParser) -> None:
    """Makes a parser end with SCRIPT ARGUMENT..., or -m MODULE ARGUMENT...; see `given_command`."""
    parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def given_command(options: argparse.Namespace) -> tuple[str, ...]:
    """Returns the command of a parser to which `add_command` was applied."""
    if options.module:
        return ("-m", *options.module)
    command = tuple(options.command)
    return command[1:] if command[:1] == ("--",) else command


def run_task_command(plan: JobPlan, python: str = "") -> list[str]:
    """Returns the command with which every process of an engine becomes its task.

    Args:
      python: the Python of the hosts, where it is not the one of this host.
    """
    command = [python or plan.python, "-m", "headrace.distributed.engines.run_task"]
    if plan.ps_script:
        command.append(f"--ps-script={plan.ps_script}")
    if plan.pass_flags:
        command.append("--pass-flags")
    command.append(f"--restarts={plan.restarts}")
    if plan.logdir:
        command.append(f"--logdir={plan.logdir}")
    return [*command, *plan.command]


def launch_arguments(plan: JobPlan) -> list[str]:
    """Returns the arguments with which headrace-launch makes this plan."""
    arguments = [f"--workers={plan.workers}", f"--ps={plan.ps}", f"--restarts={plan.restarts}"]
    for name in ("chief", "evaluator", "pass_flags"):
        if getattr(plan, name):
            arguments.append(f"--{name.replace('_', '-')}")
    for name in ("ps_script", "logdir", "name"):
        if getattr(plan, name):
            arguments.append(f"--{name.replace('_', '-')}={getattr(plan, name)}")
    arguments += [f"--env={entry}" for entry in plan.env]
    return [*arguments, *plan.command]
