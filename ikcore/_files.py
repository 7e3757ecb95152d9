"""Files: reading, atomic writing, identity of paths, and limits on the memory that a file may request."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO

_ROOM = 1 << 28  # bytes of memory that any file may request
_SHARE = 100  # additional bytes per byte of the file

_unfinished: set[Path] = set()


def write(path: str | os.PathLike[str], parts: Iterable[str]) -> None:
    """Write text to a file in UTF-8, either completely or not at all.

    A temporary file beside it is written first. It then replaces the file and takes over its permissions. A symbolic
    link is kept, a hard link is not; the current user becomes the owner. A path that is no regular file, such as a
    pipe, is written directly. An OSError names the file and the reason.
    """
    try:
        mode = _mode(path)
        if mode is None or stat.S_ISREG(mode):
            _replace(path, parts, mode)
        else:
            with _open(path, "w") as file:
                file.writelines(parts)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def read(path: str | os.PathLike[str]) -> bytes:
    """Return the contents of a file or of a pipe.

    It raises OSError if there is no file, or if it is a device, which may have no end.
    """
    with open(path, "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise OSError(errno.EINVAL, "is a device, and no file", os.fspath(path))
        return file.read()


def _mode(path: str | os.PathLike[str]) -> int | None:
    """The mode bits of the file at a path, None if there is none."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _replace(path: str | os.PathLike[str], parts: Iterable[str], mode: int | None) -> None:
    to = Path(os.path.realpath(path) if os.path.islink(path) else path)
    if mode is not None and not os.access(to, os.W_OK):
        _open(to, "a").close()  # raises the error that says why
    part = to.with_name(f".ikcore-{secrets.token_hex(8)}")
    _unfinished.add(part)
    try:
        with _open(part, "x") as file:
            if mode is not None:
                with suppress(OSError):  # some file systems have no permissions
                    part.chmod(stat.S_IMODE(mode))
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())  # some file systems report only now that they are full
        part.replace(to)
    except PermissionError as error:  # usually of the folder: the file itself has been checked above
        raise PermissionError(error.errno, f"{error.strerror} to put another file in its place") from error
    finally:
        _drop(part)


def _open(path: str | os.PathLike[str], mode: str) -> IO[str]:
    return open(path, mode, encoding="utf-8", newline="\n")


def _drop(part: Path) -> None:
    with suppress(OSError):  # usually it has been renamed already
        part.unlink()
    _unfinished.discard(part)


def drop_unfinished() -> None:
    """Remove temporary files, in a process that exits immediately."""
    for part in list(_unfinished):
        _drop(part)


def known_as(path: str | os.PathLike[str]) -> set[object]:
    """Identifiers of a file: two paths lead to the same file if they share one of them.

    Parameters
    ----------
    path : path
        There need not be a file yet.

    Returns
    -------
    set
        The resolved path and, if the file exists, its device and file number. Hard links and other spellings of the
        name share the latter.
    """
    where = os.path.realpath(path)
    found: set[object] = {os.path.normcase(where)}
    with suppress(OSError, ValueError):
        there = os.stat(where)
        if there.st_ino:  # some disks of Windows have none
            found.add((there.st_dev, there.st_ino))
    return found


def too_much(asked: int, given: int) -> str | None:
    """Describe the memory that a file requests if it is far more than its contents can need.

    Parameters
    ----------
    asked, given : int
        Bytes of memory, bytes of the file.

    Returns
    -------
    str or None
        None if it may have them.
    """
    if asked <= _ROOM + _SHARE * given:
        return None
    return f"{asked / 1e9:.1f} GB of memory from {given / 1e6:.2g} MB of file"


def quote(words: str) -> str:
    """Words of a file for a message: in quotes, shortened, and without control characters."""
    return repr(shorten(words))


def shorten(words: object, most: int = 40) -> str:
    """The same without quotes."""
    text = str(words)
    return text if len(text) <= most else f"{text[:most]}..."
