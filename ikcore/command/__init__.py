"""The command ``ikcore``."""
