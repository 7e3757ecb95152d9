"""Writing files, all of which are written in one way: whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import ikcore as ik
from ikcore import _files

WALK = ik.samples.walk(seconds=2).clip

WRITERS: dict[str, Callable[[Path], None]] = {
    "clip.bvh": WALK.write,
    "page.html": lambda path: ik.report.write(path, "A walk", ik.feet.measure(WALK)),
    "index.html": lambda path: ik.report.write_index(path, []),
    "feet.json": ik.Feet.detect(WALK.skeleton).save,
}
POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has neither such permissions nor pipes nor links")


@pytest.fixture(params=WRITERS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file that is there."""
    path: Path = tmp_path / request.param
    path.write_text("older")
    return path


def alone(path: Path, content: str = "older") -> bool:
    """Whether a file is as it was, and nothing beside it."""
    return path.read_text() == content and list(path.parent.iterdir()) == [path]


def test_every_writer_replaces_a_file(path: Path) -> None:
    WRITERS[path.name](path)
    assert len(path.read_text(encoding="utf-8")) > 100
    assert not alone(path)
    assert list(path.parent.iterdir()) == [path]


def full(_: int) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_leaves_what_was_there_and_is_said_with_the_name(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        WRITERS[path.name](path)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))
    assert alone(path)


@POSIX
def test_no_more_than_half_of_it_fits(path: Path) -> None:
    """Without anything that is put in the place of the system: a process that may write few bytes."""
    code = "import pathlib, resource, sys, test_files; resource.setrlimit(resource.RLIMIT_FSIZE, (99, 99)); "
    code += "path = pathlib.Path(sys.argv[1]); test_files.WRITERS[path.name](path)"
    here = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, str(path)],
        env={**os.environ, "PYTHONPATH": here},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.splitlines()[-1] == f"OSError: [Errno {errno.EFBIG}] File too large: '{path}'"
    assert alone(path)


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit, MemoryError])
def test_whatever_stops_it_leaves_what_was_there(ending: type[BaseException], tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    path.write_text("older")

    def stopped() -> Iterator[str]:
        yield "half"
        raise ending

    with pytest.raises(ending):
        _files.write(path, stopped())
    assert alone(path)


def test_half_a_letter_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    path.write_text("older")
    with pytest.raises(UnicodeEncodeError):
        _files.write(path, ["half", "a\udcff"])
    assert alone(path)
    clip = ik.Clip(ik.Skeleton([-1], [[0, 0, 0]], names=["a\udcff"]), ik.Pose([[[1, 0, 0, 0]]]), 30)
    path = path.rename(tmp_path / "some.bvh")
    with pytest.raises(ValueError, match=r"some\.bvh: a BVH file cannot hold the name 'a\\udcff'"):
        clip.write(path)
    assert alone(path)


@pytest.mark.skipif(os.name == "nt", reason="Windows tells no process of its end, and deletes no open file")
def test_a_process_that_ends_at_once_leaves_nothing(tmp_path: Path) -> None:
    def parts() -> Iterator[str]:
        assert len(list(tmp_path.iterdir())) == 1
        _files.drop_unfinished()
        assert not list(tmp_path.iterdir())
        yield "more"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _files.write(tmp_path / "some.txt", parts())
    assert not list(tmp_path.iterdir())


@POSIX
@pytest.mark.parametrize("mode", [0o600, 0o664, 0o755])
def test_permissions_stay_and_hold_from_the_start(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    path.touch()
    path.chmod(mode)

    def parts() -> Iterator[str]:
        assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {mode}
        yield "new"

    _files.write(path, parts())
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_text() == "new"


@POSIX
def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    _files.write(tmp_path / "new", ["text"])
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


@POSIX
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everything")
def test_what_is_read_only_is_left(tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    path.write_text("older")
    path.chmod(0o444)
    with pytest.raises(PermissionError, match=r"some\.txt"):
        _files.write(path, ["new"])
    assert alone(path)


@POSIX
def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    link, older, gone = tmp_path / "link", tmp_path / "deep/older", tmp_path / "deep/gone"
    older.write_text("older")
    link.symlink_to("deep/older")
    _files.write(link, ["new"])
    assert link.is_symlink()
    assert older.read_text() == "new"
    link.unlink()
    link.symlink_to("deep/gone")
    _files.write(link, ["new"])
    assert link.is_symlink()
    assert gone.read_text() == "new"
    link.unlink()
    link.symlink_to("link")
    with pytest.raises(OSError, match="link"):
        _files.write(link, ["new"])
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "deep", gone, older, link]


@POSIX
def test_what_is_no_file_is_written_to(tmp_path: Path) -> None:
    """And not replaced, least of all a device."""
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    _files.write(pipe, ["one ", "two"])
    reader.join()
    assert got == ["one two"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    if Path("/dev/full").exists():
        with pytest.raises(OSError, match="/dev/full"):
            _files.write("/dev/full", ["text"])
    with pytest.raises(IsADirectoryError):
        _files.write(tmp_path, ["text"])


def test_a_folder_that_is_not_there_is_an_error_with_the_name(tmp_path: Path) -> None:
    ways = ["none/some.txt"] if os.name == "nt" else ["none/some.txt", "none/../some.txt"]  # no folder to Windows
    for path in map(tmp_path.joinpath, ways):
        with pytest.raises(FileNotFoundError) as caught:
            _files.write(path, ["text"])
        assert caught.value.filename == str(path)
    assert not list(tmp_path.iterdir())


def test_two_ways_to_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # Windows has no way from one drive to another
    path = tmp_path / "some.txt"
    ways = [path, tmp_path / "new/../some.txt", Path(os.path.relpath(path))]
    for text in ("", "now it is there"):
        if text:
            path.write_text(text)
            os.link(path, tmp_path / "hard")
            ways.append(tmp_path / "hard")
        for way in ways:
            assert _files.known_as(way) & _files.known_as(path), way
    assert not _files.known_as(path) & _files.known_as(tmp_path / "other.txt")


def test_a_folder_in_which_no_file_can_be_replaced_is_told_from_a_file_that_cannot(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "replace", refused)
    with pytest.raises(PermissionError, match="not permitted to put another file in its place") as caught:
        WRITERS[path.name](path)
    assert caught.value.filename == str(path)
    assert alone(path)


READERS: list[Callable[[Path], object]] = [ik.Clip.read, ik.Ground.read, ik.Feet.load]


@POSIX
@pytest.mark.parametrize(("ending", "reader"), [(".bvh", 0), (".glb", 0), (".obj", 1), (".json", 2)])
def test_a_device_is_not_read_to_its_end(tmp_path: Path, ending: str, reader: int) -> None:
    """It may have none; a pipe has."""
    endless = tmp_path / f"endless{ending}"
    endless.symlink_to("/dev/zero")
    with pytest.raises(OSError, match="is a device, and no file") as caught:
        READERS[reader](endless)
    assert caught.value.filename == str(endless)
