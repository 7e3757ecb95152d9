# SPDX-License-Identifier: GPL-3.0-or-later
"""Report of the last run for the panels, kept while Blender runs and the resulting action is active."""

from ..animation import actions, nla


class Last:
    """Reports of one kind, by armature and active action."""

    def __init__(self):
        self._kept = {}

    def keep(self, armature, action, report):
        """Store the report of an operation with this resulting action."""
        actions.forget_gone(self._kept)
        if action:
            self._kept[armature.session_uid, action.session_uid] = report

    def of(self, armature):
        """The report of an armature's active action, or None."""
        action = nla.current_action(armature.animation_data)
        return self._kept.get((armature.session_uid, action.session_uid)) if action else None
