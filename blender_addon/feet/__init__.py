# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake Foot IK: legs, ground, contacts, options, the bake, its report and its trails."""
