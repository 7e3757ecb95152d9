# SPDX-License-Identifier: GPL-3.0-or-later
"""The armature: bones, their inheritance and rotations, Rigify's limbs, IK limits, skin."""
