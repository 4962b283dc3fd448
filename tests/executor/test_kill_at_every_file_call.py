"""A process that is killed at any call that changes a file leaves a whole checkpoint."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import child_process
import pytest

# Forks a child for each call in turn; it saves once more, and is killed at that call. The parent
# runs no session: it has no threads, and reads checkpoints without a graph.
EACH_CALL = """
import ctypes
from headrace.formats.bundle_reader import BundleReader
folder, devices, one_name, kind = %r, %d, %r, %r
killer = ctypes.CDLL(None)
killer.file_call_killer_begin.argtypes = [ctypes.c_long]
prefix = folder + "/model"
variables = []
for i in range(4):
    with hr.device(f"/cpu:{i %% devices}"):
        variables.append(hr.get_variable(
            f"v{i}", [20_000], initializer=hr.zeros_initializer(), use_resource=i %% 2 == 1))
table = hr.get_variable(
    "table", [8, 100], initializer=hr.zeros_initializer(),
    partitioner=hr.fixed_size_partitioner(3))
value = hr.placeholder(hr.float32, [])
update = hr.group(*[hr.assign(v, hr.fill(v.shape, value)) for v in [*variables, *table]])
saver = hr.train.Saver(sharded=devices > 1, max_to_keep=2)
if kind == "background":
    background = hr.train.AsyncSaver(saver)

def save(step, call):
    session = hr.Session(config=hr.ConfigProto(device_count={"CPU": devices}))
    session.run(update, {value: step})
    if not one_name:
        saver.recover_last_checkpoints([f"{prefix}-{s}" for s in range(max(1, step - 2), step)])
    number = None if one_name else step
    killer.file_call_killer_begin(call)
    if kind == "background":
        background.save(session, prefix, global_step=number)
        session.run(update, {value: -step})
        background.close()
    else:
        saver.save(session, prefix, global_step=number)
    killer.file_call_killer_begin(-1)

def forked(step, call):
    # Whether the child was killed.
    pid = os.fork()
    if pid == 0:
        try:
            save(step, call)
            os._exit(0)
        except BaseException as error:
            print("error", error, file=sys.stderr, flush=True)
            os._exit(1)
    status = os.waitpid(pid, 0)[1]
    assert status in (0, signal.SIGKILL), status
    return status != 0

assert not forked(1, -1)
step, call, newest, killed, wrong = 1, 0, 1, True, []
while killed:
    step += 1
    killed = forked(step, call)
    path = hr.train.latest_checkpoint(folder)
    with BundleReader(path) as reader:
        names = sorted(reader.names())
        found = np.unique(np.concatenate([reader.read(name).ravel() for name in names]))
    if names != ["table", "v0", "v1", "v2", "v3"] or len(found) != 1:
        wrong.append((call, names, found.tolist()))
    elif not newest <= found[0] <= step or (not killed and found[0] != step):
        wrong.append((call, newest, float(found[0])))
    newest = found[0]
    call += 1
print((call, wrong, sorted(os.listdir(folder))))
"""


@pytest.fixture(scope="module")
def killer(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of file_call_killer.c, compiled."""
    if sys.platform != "linux":
        pytest.skip("loading before the C library is Linux's")
    built = tmp_path_factory.mktemp("killer") / "file_call_killer.so"
    source = Path(__file__).parent / "file_call_killer.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", str(source), "-o", str(built)], check=True)
    return str(built)


@pytest.mark.parametrize("kind", ["at once", "background"])
@pytest.mark.parametrize("one_name", [False, True], ids=["a name a step", "one name for all"])
@pytest.mark.parametrize("devices", [1, 3], ids=["whole", "sharded"])
def test_a_whole_checkpoint_is_left(
    killer: str, tmp_path: Path, devices: int, one_name: bool, kind: str
) -> None:
    script = EACH_CALL % (str(tmp_path), devices, one_name, kind)
    calls, wrong, files = ast.literal_eval(child_process.output(script, LD_PRELOAD=killer))
    assert wrong == []
    assert calls > 15 * devices
    assert any(name.endswith(".index") for name in files)
