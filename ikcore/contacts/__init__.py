"""When feet stand on the ground."""

from ikcore.contacts.contacts import Contacts

__all__ = ["Contacts"]
