"""Signatures of runs: by whom a run is vouched for, as it was when it was signed.

signature-FINGERPRINT.json   the digests of all files, of the ledger and the certificates by name, signed

Digests say that nothing was damaged. A signature says that nobody without the private key changed anything.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fedward.base.durable_files import write_atomically
from fedward.base.limited_files import read_limited, read_text
from fedward.base.strict_json import parse, require_keys
from fedward.base.validate import InvalidValue
from fedward.rundir.damage import find_damage, read_log
from fedward.rundir.digest_log import FileState
from fedward.rundir.run_files import RunFiles

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

_FORMAT, _VERSION = "fedward signature", 1
_KEYS = ("format", "version", "key", "signed", "signature")
_SIGNED = ("files", "ledgers", "certificates", "when")
_PATTERN = "signature-*.json"
_LARGEST = 1 << 26
_LEDGERS = ("ledger.json", "ledgers.json", "users.json", "papers-ledger.json")
_GENERATE = "make one with fedward sign --new-key FILE"

State = Literal["valid", "changed", "invalid", "unchecked"]
_WORDS: Mapping[State, str] = {
    "valid": "is signed, and as it was then",
    "changed": "was signed, and has changed since",
    "invalid": "holds a signature that is none: it was damaged or forged",
    "unchecked": "holds a signature that was not checked: pip install 'fedward[sign]'",
}


@dataclass(frozen=True, kw_only=True)
class CheckedSignature:
    """A signature in a run directory.

    Args:
      file: its path.
      key: the fingerprint of the key that it is by; empty where it says none.
      state: whether the run is as it was when it was signed.
      when: it was signed, by the clock of whoever signed.
      changed: the files that have changed since.
      expected: whether it is by the key that was asked for.
    """

    file: Path
    key: str
    state: State
    when: str = ""
    changed: tuple[str, ...] = ()
    expected: bool = False

    def __str__(self) -> str:
        by = f" by the key {self.key}" if self.key else ""
        since = f" on {self.when}" if self.when else ""
        files = f" ({', '.join(self.changed[:5])}{', ...' * (len(self.changed) > 5)})" if self.changed else ""
        return f"{self.file.parent} {_WORDS[self.state]}{files}{by}{since}"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "file": str(self.file), "changed": list(self.changed), "says": str(self)}


@dataclass(frozen=True, kw_only=True)
class KeyPair:
    """The files of a new key, and its fingerprint."""

    private: Path
    public: Path
    fingerprint: str


def make_keys(file: Path) -> KeyPair:
    """Makes a key: the private one for its owner alone, the public one beside it, for everybody."""
    _require_cryptography()
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    public = file.with_name(f"{file.name}.pub")
    for each in (file, public):
        if each.exists() or each.is_symlink():
            raise InvalidValue(f"{each} is there already: a key is never written over; choose another name")
    if not file.parent.is_dir():
        raise InvalidValue(f"a key must lie in a directory that exists, got {str(file)!r}")
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    write_atomically(file, pem, private=True)
    pem = key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    write_atomically(public, pem)
    return KeyPair(private=file, public=public, fingerprint=_fingerprint(_raw(key.public_key())))


def read_private_key(file: Path) -> Ed25519PrivateKey:
    """The private key in a file, which nobody else may read."""
    _require_cryptography()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    content = _read_key(file, "private")
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & 0o077:
        raise InvalidValue(
            f"the private key {file} must be for its owner alone, got mode {mode:o}: others may have read "
            f"it; {_GENERATE}, or chmod 600 it if you know that nobody has"
        )
    try:
        key = load_pem_private_key(content, password=None)
    except (ValueError, TypeError) as error:
        raise InvalidValue(
            f"{file} must be a private key without a password, in PEM: {error}; {_GENERATE}"
        ) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidValue(f"{file} must be an Ed25519 key, got {type(key).__name__}; {_GENERATE}")
    return key


def read_public_key(file: Path) -> Ed25519PublicKey:
    """The public key in a file."""
    _require_cryptography()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    content = _read_key(file, "public")
    if b"PRIVATE KEY" in content:
        raise InvalidValue(
            f"{file} is a private key: give the public one, {file}.pub, and keep this to yourself"
        )
    try:
        key = load_pem_public_key(content)
    except (ValueError, TypeError) as error:
        raise InvalidValue(f"{file} must be a public key in PEM: {error}") from error
    if not isinstance(key, Ed25519PublicKey):
        raise InvalidValue(f"{file} must be an Ed25519 key, got {type(key).__name__}")
    return key


def fingerprint_of(key: Ed25519PublicKey) -> str:
    """What a key is called: the first half of its SHA-256."""
    return _fingerprint(_raw(key))


def sign_run(files: RunFiles, key: Ed25519PrivateKey, *, has_digests: bool) -> CheckedSignature:
    """Signs what a directory holds, whose lock is held; a damaged one is refused.

    One of an earlier version gets its digests now.
    """
    folder = files.path
    if read_log(folder) is None and not has_digests:
        files.renew()
    _, damage = find_damage(folder, has_digests=has_digests)
    if damage:
        raise InvalidValue(f"a damaged run must not be signed: {damage[0]}; {damage[0].remedy}")
    log = read_log(folder)
    assert log is not None  # found, or just taken
    listing = log.files
    public = _raw(key.public_key())
    signed = {
        "files": {name: list(state) for name, state in sorted(listing.items())},
        "ledgers": {name: listing[name].sha256 for name in _LEDGERS if name in listing},
        "certificates": {
            name: state.sha256 for name, state in sorted(listing.items()) if name.startswith("certificate")
        },
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    content = {
        "format": _FORMAT,
        "version": _VERSION,
        "key": base64.b64encode(public).decode(),
        "signed": signed,
        "signature": base64.b64encode(key.sign(_message(signed))).decode(),
    }
    file = folder / f"signature-{_fingerprint(public)}.json"
    # For its owner alone, as the digests: whoever has that of run.json can try seeds.
    write_atomically(file, (json.dumps(content, indent=1) + "\n").encode(), private=True)
    return CheckedSignature(file=file, key=_fingerprint(public), state="valid", when=str(signed["when"]))


def check_signatures(folder: Path, expected: Ed25519PublicKey | None = None) -> tuple[CheckedSignature, ...]:
    """Every signature in a directory: whose it is, and whether the digests are those that were signed.

    That files are as their digests say is found by ``find_damage``. ``expected`` is a key that is known to be
    somebody's; of any other nobody knows whose it is.
    """
    wanted = None if expected is None else fingerprint_of(expected)
    return tuple(_check(file, folder, wanted) for file in sorted(folder.glob(_PATTERN)))


def _check(file: Path, folder: Path, wanted: str | None) -> CheckedSignature:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        return CheckedSignature(file=file, key="", state="unchecked")
    try:
        content = _read(file)
        public = base64.b64decode(content["key"], validate=True)
        signed = content["signed"]
        require_keys(signed, _SIGNED, "what is signed")
        signature = base64.b64decode(content["signature"], validate=True)
        Ed25519PublicKey.from_public_bytes(public).verify(signature, _message(signed))
        own = _fingerprint(public)
        files = {name: FileState(*state) for name, state in signed["files"].items()}
    except (InvalidSignature, InvalidValue, ValueError, TypeError, AttributeError, OSError):
        return CheckedSignature(file=file, key="", state="invalid")
    try:
        log = read_log(folder)
    except InvalidValue:
        log = None
    now = {} if log is None else log.files
    changed = tuple(sorted(name for name in files.keys() | now.keys() if files.get(name) != now.get(name)))
    return CheckedSignature(
        file=file,
        key=own,
        state="changed" if changed else "valid",
        when=str(signed["when"]),
        changed=changed,
        expected=own == wanted,
    )


def _read(file: Path) -> dict[str, Any]:
    if file.stat().st_size > _LARGEST:
        raise InvalidValue(f"{file} must have at most {_LARGEST:,} bytes")
    content = parse(read_text(file), str(file))
    require_keys(content, _KEYS, "signature")
    if content["format"] != _FORMAT or content["version"] != _VERSION:
        raise InvalidValue(f"{file} must be of the format {_FORMAT!r}, version {_VERSION}")
    found: dict[str, Any] = content
    return found


def _message(signed: Mapping[str, Any]) -> bytes:
    text = json.dumps(signed, sort_keys=True, separators=(",", ":"))
    return f"{_FORMAT} {_VERSION}\n{text}".encode()


def _raw(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes_raw()


def _fingerprint(public: bytes) -> str:
    return hashlib.sha256(public).hexdigest()[:32]


def _read_key(file: Path, kind: str) -> bytes:
    try:
        return read_limited(file)
    except OSError as error:
        raise InvalidValue(
            f"the {kind} key {os.fspath(file)} cannot be read: {error.strerror or error}; {_GENERATE}"
        ) from error


def _require_cryptography() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise InvalidValue("signatures need the package cryptography: pip install 'fedward[sign]'") from None
