"""Paths and URLs, names and folders of stores, and their errors."""

from __future__ import annotations

import errno
import subprocess
import sys
import uuid
from datetime import datetime, timezone

import pytest

from headrace.formats import errors, file_systems
from headrace.formats.remote_file import read_bytes, write_bytes


@pytest.fixture
def folder():
    """A folder of fsspec's store in memory."""
    return f"memory://{uuid.uuid4().hex}"


@pytest.mark.parametrize(
    ("path", "remote"),
    [
        ("s3://bucket/key", True),
        ("gs://b", True),
        ("a+b-c.1://x", True),
        (b"s3://bucket/key", True),
        ("/tmp/x", False),
        ("x", False),
        ("", False),
        ("file:///tmp/x", False),
        ("1s://x", False),
        ("a b://x", False),
        ("dir/s3://x", False),
        ("C:\\x", False),
        ("s3:/bucket", False),
    ],
)
def test_a_scheme_other_than_file_makes_a_path_remote(path, remote):
    assert file_systems.is_remote(path) is remote


def test_the_scheme_file_is_local():
    assert file_systems.local_path("file:///tmp/x") == "/tmp/x"
    assert file_systems.local_path("/tmp/x") == "/tmp/x"
    assert file_systems.local_path("s3://b/k") == "s3://b/k"


def test_without_fsspec_the_error_says_what_to_install():
    script = (
        "import sys\n"
        "sys.modules['fsspec'] = None\n"
        "from headrace.formats import errors, remote_file\n"
        "try:\n"
        "    remote_file.read_bytes('s3://bucket/key')\n"
        "except errors.UnimplementedError as error:\n"
        "    print(error)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "File system scheme 's3' not implemented (file: 's3://bucket/key')" in said.stdout
    assert "pip install 'headrace-formats[remote]'" in said.stdout


def test_local_files_import_no_fsspec(tmp_path):
    script = (
        "import sys\n"
        "from headrace.formats import bundle_writer, event_file\n"
        f"with bundle_writer.BundleWriter({str(tmp_path / 'm')!r}) as w: w.add('a', 1.0)\n"
        f"event_file.EventFileWriter({str(tmp_path)!r}).close()\n"
        "assert 'fsspec' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_an_unknown_scheme_and_a_scheme_without_its_package_are_unimplemented(monkeypatch):
    with pytest.raises(errors.UnimplementedError, match="scheme 'nowhere' not implemented"):
        file_systems.exists("nowhere://x")
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(errors.UnimplementedError, match="scheme 'gs' not implemented.*gcsfs"):
        file_systems.exists("gs://bucket/x")


def test_names_folders_and_patterns(folder):
    write_bytes(f"{folder}/a/one.txt", b"1")
    write_bytes(f"{folder}/a/two.txt", b"22")
    write_bytes(f"{folder}/a/deep/three.bin", b"333")
    assert file_systems.list_directory(f"{folder}/a") == ["deep", "one.txt", "two.txt"]
    assert file_systems.glob(f"{folder}/a/*.txt") == [
        f"{folder}/a/one.txt",
        f"{folder}/a/two.txt",
    ]
    assert file_systems.glob(f"{folder}/*/deep/*") == [f"{folder}/a/deep/three.bin"]
    assert file_systems.glob(f"{folder}/none*") == []
    assert file_systems.exists(f"{folder}/a/one.txt")
    assert not file_systems.exists(f"{folder}/a/three.txt")
    assert file_systems.is_directory(f"{folder}/a")
    assert not file_systems.is_directory(f"{folder}/a/one.txt")
    assert not file_systems.is_directory(f"{folder}/b")
    assert file_systems.status(f"{folder}/a/two.txt").size == 2
    with pytest.raises(errors.NotFoundError):
        file_systems.status(f"{folder}/a/three.txt")
    with pytest.raises(errors.NotFoundError):
        file_systems.list_directory(f"{folder}/b")
    with pytest.raises(errors.FailedPreconditionError):
        file_systems.list_directory(f"{folder}/a/one.txt")


def test_files_are_renamed_copied_and_removed(folder):
    write_bytes(f"{folder}/x", b"x")
    write_bytes(f"{folder}/y", b"y")
    file_systems.rename(f"{folder}/x", f"{folder}/y")
    assert read_bytes(f"{folder}/y") == b"x"
    assert not file_systems.exists(f"{folder}/x")
    file_systems.copy(f"{folder}/y", f"{folder}/z")
    assert read_bytes(f"{folder}/z") == b"x"
    file_systems.remove(f"{folder}/z")
    with pytest.raises(errors.NotFoundError, match="z; No such file or directory"):
        file_systems.remove(f"{folder}/z")
    file_systems.discard(f"{folder}/z")
    with pytest.raises(errors.NotFoundError):
        file_systems.rename(f"{folder}/z", f"{folder}/w")
    with pytest.raises(errors.UnimplementedError, match="another file system"):
        file_systems.rename(f"{folder}/y", "http://127.0.0.1/y")
    file_systems.make_directories(f"{folder}/empty/one")
    assert file_systems.is_directory(f"{folder}/empty/one")
    file_systems.remove_empty_directory(f"{folder}/empty/one")
    assert not file_systems.exists(f"{folder}/empty/one")
    file_systems.remove_empty_directory(folder)  # it is not empty
    file_systems.remove_tree(folder)
    assert not file_systems.exists(folder)


def test_a_changed_file_has_another_identity(folder):
    write_bytes(f"{folder}/x", b"one")
    first = file_systems.status(f"{folder}/x").identity
    assert file_systems.status(f"{folder}/x").identity == first
    write_bytes(f"{folder}/x", b"two")
    assert file_systems.status(f"{folder}/x").identity != first


@pytest.mark.parametrize(
    ("info", "mtime_ns"),
    [
        ({"mtime": 1.5}, 1_500_000_000),
        ({"LastModified": datetime(1970, 1, 1, 0, 0, 2, tzinfo=timezone.utc)}, 2_000_000_000),
        ({"created": datetime(1970, 1, 1, 0, 0, 3)}, 3_000_000_000),
        ({"updated": "1970-01-01T00:00:04+00:00"}, 4_000_000_000),
        ({"last_modified": "Thu, 01 Jan 1970 00:00:05 GMT"}, 5_000_000_000),
        ({"mtime": "yesterday"}, 0),
        ({}, 0),
    ],
)
def test_times_of_stores_become_nanoseconds(info, mtime_ns):
    found = file_systems.status_of({"size": 3, "type": "file", **info})
    assert (found.mtime_ns, found.size, found.is_directory) == (mtime_ns, 3, False)


class NoCredentialsError(Exception):
    """Of botocore, by its name."""


class ClientError(Exception):
    """Of aiohttp, by its name."""


class ServerDisconnectedError(ClientError):
    pass


class FileExpired(OSError):
    """Of s3fs, by its name."""


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (FileNotFoundError("x"), errors.NotFoundError),
        (PermissionError("x"), errors.PermissionDeniedError),
        (OSError(errno.ENOSPC, "full"), errors.ResourceExhaustedError),
        (IsADirectoryError("x"), errors.FailedPreconditionError),
        (FileExistsError("x"), errors.AlreadyExistsError),
        (ConnectionRefusedError(), errors.UnavailableError),
        (TimeoutError(), errors.UnavailableError),
        (OSError(errno.EBUSY, "slow down"), errors.UnavailableError),
        (ServerDisconnectedError("gone"), errors.UnavailableError),
        (NoCredentialsError("who?"), errors.UnauthenticatedError),
        (FileExpired(errno.EBUSY, "gone"), errors.AbortedError),
        (NotImplementedError("no"), errors.UnimplementedError),
        (KeyError("x"), errors.UnknownError),
        (errors.DataLossError(None, None, "kept"), errors.DataLossError),
    ],
)
def test_what_stores_raise_becomes_an_error_about_the_url(raised, kind):
    with pytest.raises(kind) as caught:
        with file_systems.errors_about("s3://bucket/key"):
            raise raised
    assert type(caught.value) is kind
    if not isinstance(raised, errors.OpError):
        assert "s3://bucket/key; " in str(caught.value)
        assert caught.value.path == "s3://bucket/key"


def test_object_stores_have_no_folders_to_create():
    # no connection is made
    file_systems.make_directories("s3://no-such-bucket/a/b")
    file_systems.remove_empty_directory("s3://no-such-bucket/a/b")


def test_a_child_process_opens_a_file_system_of_its_own():
    script = (
        "import os\n"
        "from headrace.formats.remote_file import read_bytes, write_bytes\n"
        "write_bytes('memory://x', b'parent')\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    write_bytes('memory://x', b'child')\n"
        "    os._exit(0 if read_bytes('memory://x') == b'child' else 1)\n"
        "assert os.waitpid(pid, 0)[1] == 0\n"
        "assert read_bytes('memory://x') == b'parent'\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
