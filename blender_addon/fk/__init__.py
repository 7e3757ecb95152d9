# SPDX-License-Identifier: GPL-3.0-or-later
"""FK <-> IK: keys of IK controls from FK, and back."""
