"""The command `headrace-launch`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from headrace.distributed.engines.launchers.command_lines import add_command, given_command
from headrace.distributed.engines.launchers.job_plan import JobPlan
from headrace.distributed.engines.launchers.kubernetes import PodOptions, manifest, secret_name
from headrace.distributed.engines.launchers.local import launch_local
from headrace.distributed.engines.launchers.mpi import launch_mpi
from headrace.distributed.engines.launchers.ray import launch_ray
from headrace.distributed.engines.launchers.slurm import (
    batch_script,
    launch_steps,
    submit,
    within_allocation,
)
from headrace.distributed.engines.launchers.supervisor import GRACE_S
from headrace.distributed.engines.resolvers.kubernetes import DEFAULT_PORT
from headrace.formats.errors import InvalidArgumentError, OpError

ENGINES = ("local", "ray", "slurm", "kubernetes", "mpi")
# The engines that take an option.
_TAKEN_BY = {
    "engine_option": ("slurm", "mpi"),
    "output": ("slurm", "kubernetes"),
    "wait": ("slurm",),
    "cpus": ("ray", "slurm", "kubernetes"),
    "memory": ("kubernetes",),
    "ray_address": ("ray",),
    "shared_folder": ("mpi",),
    "image": ("kubernetes",),
    "namespace": ("kubernetes",),
    "jobset": ("kubernetes",),
    "token_secret": ("kubernetes",),
}


def main(arguments: list[str] | None = None) -> int:
    """Starts a training script on an engine, and waits for the end of the job.

    Args:
      arguments: command-line arguments; by default those of the process.
    Returns: the exit status of the chief; 2 for arguments that do not fit together.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    plan = _plan(options)
    try:
        plan.check()
        _check_engine(options)
        return _launch(plan, options)
    except (OpError, OSError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2


def _check_engine(options: argparse.Namespace) -> None:
    """Raises: InvalidArgumentError for an option that the engine does not take."""
    for name, engines in _TAKEN_BY.items():
        if getattr(options, name) and options.engine not in engines:
            option = "--" + name.replace("_", "-")
            why = f"{option} is given, but --engine is {options.engine}: it is for"
            raise InvalidArgumentError(None, None, f"{why} {' and '.join(engines)}")


def _launch(plan: JobPlan, options: argparse.Namespace) -> int:
    match options.engine:
        case "local":
            return launch_local(plan, options.grace)
        case "ray":
            return launch_ray(plan, options.ray_address, float(options.cpus or 1), options.grace)
        case "mpi":
            return launch_mpi(plan, options.engine_option, options.shared_folder, options.grace)
        case "kubernetes":
            return _write_manifest(plan, options)
    if within_allocation(os.environ) and not options.output:
        return launch_steps(plan, os.environ, options.grace)
    script = batch_script(plan, _sbatch_options(options))
    return _write(script, options.output) if options.output else submit(script, options.wait)


def _write_manifest(plan: JobPlan, options: argparse.Namespace) -> int:
    pods = PodOptions(
        options.image,
        options.namespace,
        options.cpus,
        options.memory,
        options.port,
        options.token_secret,
    )
    text = manifest(plan, pods, options.jobset)
    if not options.token_secret:
        namespace = f" --namespace={pods.namespace}" if pods.namespace else ""
        print(
            "headrace-launch: the tasks share a token, which the manifest does not hold; once:"
            f"\n  kubectl create secret generic {secret_name(plan, pods)}{namespace}"
            ' --from-literal=token="$(openssl rand -hex 32)"',
            file=sys.stderr,
        )
    return _write(text, options.output)


def _sbatch_options(options: argparse.Namespace) -> list[str]:
    cpus = [f"--cpus-per-task={options.cpus}"] if options.cpus else []
    return cpus + options.engine_option


def _write(text: str, output: str) -> int:
    if output in ("", "-"):
        print(text, end="")
    else:
        Path(output).write_text(text)
    return 0


def _plan(options: argparse.Namespace) -> JobPlan:
    return JobPlan(
        command=given_command(options),
        workers=options.workers,
        ps=options.ps,
        chief=options.chief,
        evaluator=options.evaluator,
        ps_script=options.ps_script,
        pass_flags=options.pass_flags,
        restarts=options.restarts,
        logdir=options.logdir,
        name=options.name,
        env=tuple(options.env),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="headrace-launch",
        usage="%(prog)s [options] SCRIPT [ARGUMENT ...] | -m MODULE [ARGUMENT ...]",
        allow_abbrev=False,
        description="Starts a training script as workers, and parameter servers beside them."
        " Each task finds its cluster in TF_CONFIG, or by headrace.distributed.engines.resolve().",
    )
    job = parser.add_argument_group("the job")
    job.add_argument(
        "--workers", type=int, default=1, metavar="N", help="tasks that run the script"
    )
    job.add_argument("--ps", type=int, default=0, metavar="N", help="parameter servers")
    job.add_argument(
        "--chief", action="store_true", help="the first worker has the job `chief` (Estimators)"
    )
    job.add_argument(
        "--evaluator", action="store_true", help="one more task runs the script as `evaluator`"
    )
    job.add_argument(
        "--ps-script",
        default="",
        metavar="SCRIPT",
        help="what parameter servers run, with the same arguments, instead of headrace-server",
    )
    job.add_argument(
        "--pass-flags",
        action="store_true",
        help="append --job_name, --task_index, --ps_hosts and --worker_hosts to the arguments",
    )
    job.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a variable of the tasks; may be repeated",
    )
    job.add_argument("--name", default="headrace", help="of the job (default: %(default)s)")
    run = parser.add_argument_group("how it runs")
    run.add_argument("--engine", choices=ENGINES, default="local", help="default: %(default)s")
    run.add_argument(
        "--restarts",
        type=int,
        default=3,
        metavar="N",
        help="how often each task is started again after it failed (default: %(default)s)",
    )
    run.add_argument(
        "--grace",
        type=float,
        default=GRACE_S,
        metavar="SECONDS",
        help="between SIGTERM or Ctrl-C and SIGKILL (default: %(default)g)",
    )
    run.add_argument(
        "--logdir", default="", metavar="DIR", help="write the output of each task to DIR/JOB-N.log"
    )
    _add_engine_options(parser)
    add_command(parser)
    return parser


def _add_engine_options(parser: argparse.ArgumentParser) -> None:
    engine = parser.add_argument_group("engines")
    engine.add_argument(
        "--engine-option",
        action="append",
        default=[],
        metavar="OPTION",
        help="slurm, mpi: an option for sbatch or mpiexec, written --engine-option=--option=value",
    )
    engine.add_argument(
        "--output",
        default="",
        metavar="FILE",
        help="slurm, kubernetes: write the script or the manifest to a file, '-' for the output",
    )
    engine.add_argument("--wait", action="store_true", help="slurm: wait for the submitted job")
    engine.add_argument(
        "--cpus", default="", metavar="N", help="ray, slurm, kubernetes: processors of each task"
    )
    engine.add_argument("--memory", default="", help="kubernetes: of each task, such as 16Gi")
    engine.add_argument("--ray-address", default="", help="ray: a cluster that runs already")
    engine.add_argument(
        "--shared-folder", default="", metavar="DIR", help="mpi: a folder that all hosts see"
    )
    engine.add_argument("--image", default="", help="kubernetes: a container image")
    engine.add_argument("--namespace", default="", help="kubernetes: a namespace")
    engine.add_argument("--jobset", action="store_true", help="kubernetes: write a JobSet")
    engine.add_argument(
        "--token-secret",
        default="",
        metavar="NAME",
        help="kubernetes: a Secret with the key `token` (default: the name of the job with -token)",
    )
    engine.add_argument(
        "--port", type=int, default=DEFAULT_PORT, help="kubernetes: default %(default)s"
    )


if __name__ == "__main__":
    sys.exit(main())
