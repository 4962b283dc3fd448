"""The command `headrace-launch`."""

from __future__ import annotations

import argparse
import sys

from headrace.distributed.engines.launchers.job_plan import JobPlan
from headrace.distributed.engines.launchers.local import launch_local
from headrace.distributed.engines.launchers.supervisor import GRACE_S
from headrace.formats.errors import OpError

ENGINES = ("local",)


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
        return _launch(plan, options)
    except (OpError, OSError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2


def _launch(plan: JobPlan, options: argparse.Namespace) -> int:
    return launch_local(plan, options.grace)


def _plan(options: argparse.Namespace) -> JobPlan:
    return JobPlan(
        command=tuple(options.command),
        workers=options.workers,
        ps=options.ps,
        chief=options.chief,
        evaluator=options.evaluator,
        ps_script=options.ps_script,
        pass_flags=options.pass_flags,
        restarts=options.restarts,
        logdir=options.logdir,
        name=options.name,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="headrace-launch",
        usage="%(prog)s [options] SCRIPT [ARGUMENT ...]",
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
    parser.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
