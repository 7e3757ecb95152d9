"""Notes: what a bake has to say, in sentences."""

from __future__ import annotations


class Note(str):
    """A sentence.

    Attributes
    ----------
    remedy : str or None
        The function of `ikcore.prepare` that would help, or has changed the clip: "denoise", "add_root_motion" or
        "fit_strides". Each interface says how to switch it.
    """

    remedy: str | None

    def __new__(cls, sentence: str, remedy: str | None = None) -> Note:
        """As it is, with what it names."""
        made = super().__new__(cls, sentence)
        made.remedy = remedy
        return made

    @property
    def unchanged(self) -> bool:
        """Whether it says that a bake has changed nothing."""
        return self.startswith("nothing has changed: ")
