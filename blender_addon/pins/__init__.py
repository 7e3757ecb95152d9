# SPDX-License-Identifier: GPL-3.0-or-later
"""Pins: a body solved for pinned bones, live or as keys."""
