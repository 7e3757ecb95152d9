# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake IK and Bake Tracking: constraints, solvers, keys, verification."""
