r"""One spelling of a text: Unicode can write é as one letter or as e and an accent, and people see no difference.

Ids and keys are kept in the normal form NFC.  Versions up to 0.2.0 kept them as they came, so an id is looked for in
every form in which it may stand in the journal.

>>> normal("loan-e\u0301") == "loan-\u00e9", forms("loan-7"), len(forms("loan-e\u0301"))
(True, ['loan-7'], 2)
"""

import unicodedata
from collections.abc import Iterable


def normal(text: str) -> str:
    """The text in the normal form NFC."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def forms(text: str) -> list[str]:
    """The forms of a text, first as it is, then composed, then decomposed; each once."""
    if text.isascii():
        return [text]
    return [*dict.fromkeys((text, normal(text), unicodedata.normalize("NFD", text)))]


def can_encode(text: str, codec: str | None) -> bool:
    """Whether an encoding has all letters of a text; None has every letter."""
    if codec is None:
        return True
    try:
        text.encode(codec)
    except UnicodeEncodeError:
        return False
    return True


def same_name(name: str, names: Iterable[str]) -> str | None:
    """The first of some names that is the same text in another form; None if there is none.

    >>> same_name("cafe\u0301s", ["shops", "caf\u00e9s"]) == "caf\u00e9s"
    True
    """
    wanted = normal(name)
    return None if name.isascii() else next((each for each in names if each != name and normal(each) == wanted), None)
