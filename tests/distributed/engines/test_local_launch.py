"""`headrace-launch` on this machine: what dies is started again, and nothing is left behind."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from launched_job import launched, processes_of, wait_for
from stand_in_scripts import CLIENT, SERVE, kill_each_job_once, supervised_job, write_scripts


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    write_scripts(tmp_path)
    return tmp_path


def write(folder: Path, text: str) -> str:
    path = folder / "train.py"
    path.write_text(text)
    return str(path)


def test_each_task_gets_its_place_and_the_output_its_name(scripts: Path) -> None:
    script = write(
        scripts,
        f"{CLIENT}import sys\n"
        "print(cluster.job_name, cluster.is_chief, ask(0), ask(1), sys.argv[1:])\n"
        "print('to stderr', file=sys.stderr)\n",
    )
    options = ["--workers", "2", "--ps", "2", "--ps-script", str(scripts / "serve.py")]
    options += ["--logdir", str(scripts / "logs")]
    with launched([*options, script, "--rate", "0.1"], scripts) as job:
        assert job.end() == 0
    ps = [job.pids(f"ps:{i}")[0] for i in range(2)]
    for index in range(2):
        expected = f"worker {index == 0} ps 0 {ps[0]} ps 1 {ps[1]} ['--rate', '0.1']"
        assert f"worker:{index} | {expected}\n" in job.stdout
        assert f"worker:{index} | to stderr\n" in job.stderr
        log = (scripts / "logs" / f"worker-{index}.log").read_text()
        assert sorted(log.splitlines()) == sorted([expected, "to stderr"])
        assert f"ps:{index}     | serving --rate 0.1\n" in job.stdout
    assert "ps:0 stopped, ps:1 stopped, worker:0 ended, worker:1 ended\n" in job.stderr


def test_status_is_the_chiefs(scripts: Path) -> None:
    script = write(
        scripts,
        "import sys\nfrom headrace.distributed.engines import resolve\n"
        "sys.exit(int(sys.argv[1 + resolve().task_index]))\n",
    )
    with launched(["--workers", "2", "--restarts", "0", script, "3", "0"], scripts) as job:
        assert job.end() == 3
    with launched(["--workers", "2", "--restarts", "0", script, "0", "3"], scripts) as job:
        assert job.end() == 0
    assert "worker:1 failed" in job.stderr


def test_killed_tasks_are_started_again_at_their_addresses(scripts: Path) -> None:
    with launched(supervised_job(scripts), scripts) as job:
        kill_each_job_once(job, scripts)
    assert "worker:1 was ended by SIGKILL: restart 1 of 3 in 0.5 s" in job.stderr


def test_task_that_fails_too_often_ends_the_job(scripts: Path) -> None:
    script = write(scripts, CLIENT + "time.sleep(1000)\n")
    bad = scripts / "bad.py"
    bad.write_text("raise SystemExit(9)\n")
    with launched(
        ["--ps", "1", "--ps-script", str(bad), "--restarts", "1", script], scripts
    ) as job:
        assert job.end() == 9
    assert len(job.pids("ps:0")) == 2
    assert "ps:0 has failed for good: stopping all tasks" in job.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_launcher_stops_all_tasks_and_their_children(
    scripts: Path, number: signal.Signals
) -> None:
    script = write(
        scripts,
        CLIENT + "import signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))\n"
        "ask(0)\n"
        "try:\n    print('ready'); time.sleep(1000)\n"
        "finally:\n    print('saved')\n",
    )
    serve = str(scripts / "serve.py")
    with launched(["--ps", "1", "--ps-script", serve, script], scripts) as job:
        job.wait_for("ready", lambda: "ready" in job.stdout)
        assert len(processes_of(scripts)) == 4  # launcher, server and its child, worker
        job.process.send_signal(number)
        assert job.end() == 128 + number
        assert "saved" in job.stdout
        assert processes_of(scripts) == []


def test_task_that_ignores_sigterm_is_killed(scripts: Path) -> None:
    script = write(
        scripts,
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('ready')\ntime.sleep(1000)\n",
    )
    with launched(["--grace", "0.2", script], scripts) as job:
        job.wait_for("ready", lambda: "ready" in job.stdout)
        job.process.send_signal(signal.SIGTERM)
        assert job.end() == 143
    assert "worker:0 has not ended in 0.2 s: killed" in job.stderr


def test_second_interrupt_kills_at_once(scripts: Path) -> None:
    script = write(
        scripts,
        "import signal, time\nsignal.signal(signal.SIGINT, lambda *_: print('no'))\n"
        "print('ready')\nwhile True: time.sleep(1000)\n",
    )
    with launched(["--grace", "1000", script], scripts) as job:
        job.wait_for("ready", lambda: "ready" in job.stdout)
        job.process.send_signal(signal.SIGINT)
        job.wait_for("the first signal", lambda: "| no" in job.stdout)
        job.process.send_signal(signal.SIGINT)
        assert job.end() == 130


@pytest.mark.parametrize("guarded", [True, False])
def test_killed_launcher_leaves_no_process(scripts: Path, guarded: bool) -> None:
    script = write(scripts, CLIENT + "ask(0)\nprint('ready')\ntime.sleep(1000)\n")
    serve = scripts / "serve.py"
    if not guarded:  # without the guard, the kernel still ends the tasks themselves
        serve.write_text(SERVE.replace("subprocess.Popen", "print"))
    with launched(["--ps", "1", "--ps-script", str(serve), script], scripts) as job:
        job.wait_for("ready", lambda: "ready" in job.stdout)
        if not guarded:
            os.kill(guard_of(job.process.pid), signal.SIGKILL)
        job.process.kill()
        wait_for(lambda: f"{processes_of(scripts)}", lambda: not processes_of(scripts))


def guard_of(launcher: int) -> int:
    """Returns the process of the group guard of a launcher."""
    for entry in Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split():
        if b"group_guard" in Path(f"/proc/{entry}/cmdline").read_bytes():
            return int(entry)
    raise AssertionError("there is no guard")


def test_programs_of_tensorflow_get_their_flags(scripts: Path) -> None:
    script = write(
        scripts,
        "import pathlib, sys, time\nprint(*sys.argv[1:])\n"
        "served = pathlib.Path(__file__).with_name('served')\n"
        "if '--job_name=ps' in sys.argv: served.touch()\n"
        "while not served.exists(): time.sleep(0.02)\n",  # when workers end, servers are stopped
    )
    options = ["--workers", "2", "--ps", "1", "--ps-script", script, "--pass-flags"]
    with launched([*options, script, "--x=1"], scripts) as job:
        assert job.end() == 0
    lines = [line.split(" | ")[1] for line in job.stdout.splitlines()]
    assert sorted(line.split("--ps_hosts")[0] for line in lines) == [
        "--x=1 --job_name=ps --task_index=0 ",
        "--x=1 --job_name=worker --task_index=0 ",
        "--x=1 --job_name=worker --task_index=1 ",
    ]
    assert len({line.split("--ps_hosts")[1] for line in lines}) == 1


def test_jobs_of_estimators(scripts: Path) -> None:
    script = write(
        scripts,
        "from headrace.distributed.engines import resolve\n"
        "me = resolve()\nprint(me.job_name, me.task_index, me.is_chief, len(me.cluster_def.job))\n"
        "raise SystemExit(4 if me.is_chief else 0)\n",
    )
    options = ["--workers", "2", "--chief", "--evaluator", "--restarts", "0"]
    with launched([*options, script], scripts) as job:
        assert job.end() == 4
    lines = {line.split(" | ")[1] for line in job.stdout.splitlines()}
    assert lines >= {"chief 0 True 2"}
    assert lines <= {"chief 0 True 2", "worker 0 False 2", "evaluator 0 False 0"}
