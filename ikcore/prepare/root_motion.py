"""Root motion: the travel that an in-place clip lacks, from its contacts."""

from __future__ import annotations

import dataclasses

import numpy as np

from ikcore.clips.clip import Clip
from ikcore.contacts.contacts import Contacts
from ikcore.pose import Pose


def add_root_motion(clip: Clip, contacts: Contacts | None = None) -> Clip:
    """Move the root of an in-place clip as fast as its planted feet slide backwards, so that they stand.

    Parameters
    ----------
    clip : Clip
        The motion, such as a walk cycle on the spot.
    contacts : Contacts, optional
        Found in this clip (default: `Contacts.detect(clip)`).

    Returns
    -------
    Clip
        The same object if the clip travels already. `contacts.at_rest()` are its contacts.

    Examples
    --------
    >>> import ikcore as ik
    >>> clip = ik.samples.walk(seconds=3, speed=1.2).clip
    >>> moved = clip.pose.translations.copy()
    >>> moved[:, 0, 2] -= 1.2 * np.arange(len(clip)) / clip.fps
    >>> in_place = ik.Clip(clip.skeleton, ik.Pose(clip.pose.rotations, moved), clip.fps)
    >>> walks = add_root_motion(in_place)
    >>> (walks.pose.translations - clip.pose.translations)[-1, 0].round(1) + 0
    array([0., 0., 0.])
    """
    contacts = Contacts.detect(clip) if contacts is None else contacts
    if len(clip) != len(contacts.treadmill):
        raise ValueError(f"clip: expected the {len(contacts.treadmill)} frames of these contacts, got {len(clip)}")
    if not contacts.treadmill.any():
        return clip
    pose, roots = clip.pose, clip.skeleton.parents < 0
    at = clip.skeleton.offsets if pose.translations is None else pose.translations
    at = np.array(np.broadcast_to(at, (len(clip), len(clip.skeleton), 3)), pose.rotations.dtype)
    at[:, roots] += contacts.travel[:, np.newaxis].astype(at.dtype)
    return dataclasses.replace(clip, pose=Pose(pose.rotations, at, pose.scales))
