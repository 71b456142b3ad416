"""Signatures of heads: Ed25519, as the library `cryptography` makes and checks them.  It is the extra `sign`."""

import base64
from collections.abc import Callable
from typing import TypeVar

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from profitable.common.files import as_path, read_bytes
from profitable.errors import InputError

Key = TypeVar("Key", Ed25519PrivateKey, Ed25519PublicKey)


def private_key(path: object) -> Ed25519PrivateKey:
    """The private key in a file; InputError if there is none."""
    remedy = "make one: openssl genpkey -algorithm ed25519 -out key.pem"
    return _key("sign", path, Ed25519PrivateKey, lambda pem: load_pem_private_key(pem, None), remedy)


def public_key(path: object) -> Ed25519PublicKey:
    """The public key in a file; InputError if there is none."""
    remedy = "make it: openssl pkey -in key.pem -pubout -out key.pub"
    return _key("public_key", path, Ed25519PublicKey, load_pem_public_key, remedy)


def _key(field: str, path: object, kind: type[Key], load: Callable[[bytes], object], remedy: str) -> Key:
    try:
        key = load(read_bytes(as_path(field, path)))
    except OSError as error:
        problem = f"cannot be read ({(error.strerror or str(error)).lower()})"
        raise InputError(field, str(path), problem, remedy) from None
    except (ValueError, TypeError, UnsupportedAlgorithm):  # no PEM, one with a password, or a kind that is unknown
        key = None
    if not isinstance(key, kind):
        which = "public" if kind is Ed25519PublicKey else "private"
        raise InputError(field, str(path), f"is no Ed25519 {which} key (PEM, without a password)", remedy)
    return key


def signature_of(text: str, key: Ed25519PrivateKey) -> str:
    """The signature of a text, in Base64."""
    return base64.b64encode(key.sign(text.encode())).decode()


def is_signed(text: str, signature: str | None, key: Ed25519PublicKey) -> bool:
    """Whether a signature is that of a text."""
    try:
        key.verify(base64.b64decode(signature or ""), text.encode())
    except InvalidSignature:
        return False
    return True
