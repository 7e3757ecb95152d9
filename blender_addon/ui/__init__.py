# SPDX-License-Identifier: GPL-3.0-or-later
"""Common parts of the interface: background work, handlers, the menu, kinds of properties, reports of the last runs."""
