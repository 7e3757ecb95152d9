"""All preparation of a clip in one call, for the options of the command and of the Blender extension."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ikcore._arrays import plain, size
from ikcore.clips.clip import Clip
from ikcore.contacts.contacts import Contacts
from ikcore.feet.detect import Feet
from ikcore.feet.note import Note
from ikcore.grounds.ground import Ground
from ikcore.prepare.denoise import denoise, noise_of
from ikcore.prepare.root_motion import add_root_motion
from ikcore.prepare.strides import fit_strides


class Prepared(NamedTuple):
    """A clip ready to bake.

    Attributes
    ----------
    clip : Clip
    contacts : Contacts
        Its contacts.
    notes : tuple of Note
        Sentences on what has changed.
    drag : float
        How far fitted strides drag planted feet, for a leg of 0.87 m: `unlock` of `BakeSettings` has to allow more by
        that.
    """

    clip: Clip
    contacts: Contacts
    notes: tuple[Note, ...]
    drag: float

    def still_true(self, notes: Iterable[Note]) -> list[Note]:
        """Notes of the bake, without advice that has been followed and without "nothing has changed"."""
        done = {note.remedy for note in self.notes}
        return [note for note in notes if note.remedy not in done - {None} and not (done and note.unchanged)]


def prepare(
    clip: Clip,
    ground: Ground,
    *,
    feet: Feet | None = None,
    contacts: Contacts | None = None,
    noise: bool = False,
    root_motion: bool = True,
    stride: float = 0.0,
    workers: int | None = 1,
) -> Prepared:
    """Denoise a clip, add root motion, and fit its strides to the ground, as far as that is asked for and needed.

    Parameters
    ----------
    clip : Clip
    ground : Ground
        The ground of the bake.
    feet : Feet, optional
        Its legs (default: `Feet.detect(clip.skeleton, clip=clip)`).
    contacts : Contacts, optional
        Its contacts (default: `Contacts.detect`).
    noise : bool, default: False
        Whether to remove capture noise: `denoise`.
    root_motion : bool, default: True
        Whether to let in-place clips travel: `add_root_motion`.
    stride : float, default: 0
        Share by which strides may change: `fit_strides`.
    workers : int or None, optional
        Threads, None for all cores.

    Examples
    --------
    >>> import ikcore as ik
    >>> walk = ik.samples.walk(seconds=3).clip
    >>> ready = ik.prepare.prepare(walk, ik.Ground.plane())
    >>> ready.clip is walk, ready.notes
    (True, ())
    """
    feet = Feet.detect(clip.skeleton, clip=clip) if feet is None else feet
    notes, drag = [], 0.0
    if noise and (shake := noise_of(clip, feet)):
        clip = denoise(clip, feet)
        notes.append(Note(f"noise of {plain(1000 * shake * clip.unit)} mm from frame to frame was removed", "denoise"))
    contacts = Contacts.detect(clip, feet) if contacts is None else contacts
    if root_motion and contacts.treadmill.any():
        clip = add_root_motion(clip, contacts)
        way = float(size(np.diff(contacts.travel, axis=0)).sum()) * clip.unit
        speed = way * clip.fps / max(len(clip) - 1, 1)
        notes.append(Note(f"root motion was added: {plain(way)} m at {plain(speed)} m/s", "add_root_motion"))
        contacts = contacts.at_rest()
    if stride:
        fitted = fit_strides(clip, contacts, ground, feet=feet, share=stride, workers=workers)
        clip, drag = fitted.clip, fitted.drag
        if (fitted.shares != 1).any():
            low, high = fitted.shares.min(), fitted.shares.max()
            said = f"strides are {plain(low)} to {plain(high)} times as long, to meet the ground"
            notes.append(Note(said, "fit_strides"))
    return Prepared(clip, contacts, tuple(notes), drag)
