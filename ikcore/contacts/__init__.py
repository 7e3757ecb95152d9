"""When feet stand on the ground."""

import ikcore.feet  # noqa: F401  first: it measures contacts, and contacts are those of its legs
from ikcore.contacts.contacts import Contacts

__all__ = ["Contacts"]
