r"""Spelling of texts: Unicode can write é as one letter or as e and an accent.

Ids and keys are kept in the normal form NFC.  Versions up to 0.2.0 kept them as they
came, so an id is looked for in every form in which it may stand in the journal.

>>> normal("loan-e\u0301") == "loan-\u00e9", forms("loan-7"), len(forms("loan-e\u0301"))
(True, ['loan-7'], 2)
"""

import unicodedata
from collections.abc import Iterable

from profitable.errors import ParameterError

LONGEST_ID = 500  # letters of an id or a key


def normal(text: str) -> str:
    """Return the text in the normal form NFC."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def forms(text: str) -> list[str]:
    """Return the forms of a text: as it is, composed, decomposed; each once."""
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
    """Return the first of some names that is the same text in another form, or None.

    >>> same_name("cafe\u0301s", ["shops", "caf\u00e9s"]) == "caf\u00e9s"
    True
    """
    if name.isascii():
        return None
    wanted = normal(name)
    return next((each for each in names if each != name and normal(each) == wanted), None)


def checked_text(field: str, value: object, longest: int = LONGEST_ID) -> str:
    """Return a text in NFC; ParameterError if a database may not store it."""
    if not isinstance(value, str) or not value.strip():
        raise ParameterError(field, value, "must be a text", "give a text that is not empty")
    value = normal(value)
    if len(value) > longest:
        raise ParameterError(field, value, f"has {len(value)} letters", f"give at most {longest}")
    if not value.isprintable() or value != value.strip():
        raise ParameterError(
            field,
            value,
            "has letters that cannot be printed, or spaces around it",
            "leave them out",
        )
    return value


def check_names(names: Iterable[str], *, known: Iterable[str] = ()) -> None:
    """Raise ParameterError for names that cannot be stored, or look alike."""
    spelt = {normal(each): each for each in known if not each.isascii()}
    for each in names:
        checked_text("category", each)
        if not each.isascii() and spelt.setdefault(normal(each), each) != each:
            raise ParameterError(
                "category",
                each,
                "is the name of another category, with its accents written otherwise",
                "choose another name",
            )
