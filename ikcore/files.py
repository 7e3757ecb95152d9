"""Files: how they are read; written whole or not at all; whether two are one; what they may ask for."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO

_ROOM = 1 << 28  # bytes of memory that any file may ask for
_SHARE = 100  # and so many more for every byte of its own

_unfinished: set[Path] = set()


def write(path: str | os.PathLike[str], parts: Iterable[str]) -> None:
    """Write text to a file, in UTF-8: all of it, or nothing, whatever gets in the way.

    It is written beside the file, and takes its place and its permissions when it is whole. A link stays a link, but
    not a hard one; the owner is who writes. What is no file, such as a pipe, is written to as it is.

    Parameters
    ----------
    path : path
        The file. If there is one it is replaced.
    parts : iterable of str
        The text, one part after the other.

    Raises
    ------
    OSError
        With the name of the file and why it cannot be written.
    """
    try:
        mode = _mode(path)
        if mode is None or stat.S_ISREG(mode):
            _replace(path, parts, mode)
        else:
            with _opened(path, "w") as file:
                file.writelines(parts)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def read(path: str | os.PathLike[str]) -> bytes:
    """All of a file, or of a pipe.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    bytes

    Raises
    ------
    OSError
        If there is none, or it is a device, which may have no end.
    """
    with open(path, "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise OSError(errno.EINVAL, "is a device, and no file", os.fspath(path))
        return file.read()


def _mode(path: str | os.PathLike[str]) -> int | None:
    """Of what is there, None if nothing is."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _replace(path: str | os.PathLike[str], parts: Iterable[str], mode: int | None) -> None:
    to = Path(os.path.realpath(path) if os.path.islink(path) else path)
    if mode is not None and not os.access(to, os.W_OK):
        _opened(to, "a").close()  # which says why
    part = to.with_name(f".ikcore-{secrets.token_hex(8)}")
    _unfinished.add(part)
    try:
        with _opened(part, "x") as file:
            if mode is not None:
                with suppress(OSError):  # some disks know no permissions
                    part.chmod(stat.S_IMODE(mode))
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())  # some disks say only then that they are full
        part.replace(to)
    except PermissionError as error:  # of the folder, as a rule: that of the file has been asked for
        raise PermissionError(error.errno, f"{error.strerror} to put another file in its place") from error
    finally:
        _drop(part)


def _opened(path: str | os.PathLike[str], mode: str) -> IO[str]:
    return open(path, mode, encoding="utf-8", newline="\n")


def _drop(part: Path) -> None:
    with suppress(OSError):  # as a rule it is gone to where it belongs
        part.unlink()
    _unfinished.discard(part)


def drop_unfinished() -> None:
    """Remove what is not whole yet, in a process that ends at once."""
    for part in list(_unfinished):
        _drop(part)


def known_as(path: str | os.PathLike[str]) -> set[object]:
    """What tells a file from others: two paths lead to one if they have any of it in common.

    Parameters
    ----------
    path : path
        There need not be a file yet.

    Returns
    -------
    set
        Where it is once links and dots are followed, and if it is there its number on its disk, which hard links and
        other ways to spell its name have in common.
    """
    where = os.path.realpath(path)
    found: set[object] = {os.path.normcase(where)}
    with suppress(OSError, ValueError):
        there = os.stat(where)
        if there.st_ino:  # some disks of Windows have none
            found.add((there.st_dev, there.st_ino))
    return found


def too_much(asked: int, given: int) -> str | None:
    """Whether a file asks for far more memory than what is in it can need: what it asks for, in words.

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


def quoted(words: str) -> str:
    """Words of a file for a sentence: in quotes, cut if there are many, with nothing that a terminal would obey."""
    return repr(cut(words))


def cut(words: object, most: int = 40) -> str:
    """The same without quotes."""
    text = str(words)
    return text if len(text) <= most else f"{text[:most]}..."
