"""`python -m headrace.distributed.engines` prints the cluster of this process, for shell scripts.

export TF_CONFIG="$(python -m headrace.distributed.engines --format tf_config)"
"""

from __future__ import annotations

import argparse
import json
import sys

from headrace.distributed.cluster.cluster_text import cluster_to_text
from headrace.distributed.engines.resolvers.detection import ENGINES, resolve
from headrace.distributed.engines.resolvers.explicit import CLUSTER, JOB, TASK
from headrace.distributed.engines.resolvers.job_sizes import sizes_from_text
from headrace.distributed.engines.resolvers.resolved_cluster import ResolvedCluster
from headrace.formats.errors import OpError


def main(arguments: list[str] | None = None) -> int:
    """Resolves the environment and prints what was found.

    Returns: the exit status; 2 for an environment that does not say which cluster this is.
    """
    parser = argparse.ArgumentParser(
        prog="python -m headrace.distributed.engines",
        description="Prints the cluster of this process, as its engine's environment tells it.",
    )
    parser.add_argument("--engine", default="auto", choices=["auto", *ENGINES])
    parser.add_argument(
        "--jobs", help="tasks of each job, in the order of ranks: ps=2,worker=3", metavar="SIZES"
    )
    parser.add_argument(
        "--format",
        default="json",
        choices=["json", "tf_config", "env"],
        help="json: all that is known; tf_config: the value of TF_CONFIG; env: lines for `eval`",
    )
    options = parser.parse_args(arguments)
    try:
        jobs = sizes_from_text(options.jobs) if options.jobs else None
        print(_text(resolve(options.engine, jobs=jobs), options.format))
    except OpError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    return 0


def _text(cluster: ResolvedCluster, how: str) -> str:
    if how == "tf_config":
        return cluster.to_tf_config()
    if how == "json":
        return json.dumps(cluster.describe(), indent=2)
    if not cluster.cluster_def.job:
        return ""
    return "\n".join(
        [
            f"export {CLUSTER}='{cluster_to_text(cluster.cluster_def)}'",
            f"export {JOB}={cluster.job_name}",
            f"export {TASK}={cluster.task_index}",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
