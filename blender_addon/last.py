# SPDX-License-Identifier: GPL-3.0-or-later
"""How it went the last time, for the panels: while Blender runs and the armature plays what was made."""

from . import actions, nla


class Last:
    """Reports of one kind, by armatures and what they play."""

    def __init__(self):
        self._kept = {}

    def keep(self, armature, action, report):
        """Keep the report of what was made of this action."""
        actions.forget_gone(self._kept)
        if action:
            self._kept[armature.session_uid, action.session_uid] = report

    def of(self, armature):
        """The report of what an armature plays, or None."""
        action = nla.shown(armature.animation_data)
        return self._kept.get((armature.session_uid, action.session_uid)) if action else None
