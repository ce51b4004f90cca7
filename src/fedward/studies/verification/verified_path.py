"""The verification of whatever lies at a path: any run, a sweep, weights, or all runs below a directory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fedward.base.limited_files import read_limited
from fedward.base.validate import InvalidValue
from fedward.models import weights_file
from fedward.privacy.known_epsilons import storing_no_epsilon
from fedward.rundir.catalogue.index import run_directories
from fedward.rundir.damage import NO_DIGESTS, Damage, Digests, find_damage
from fedward.rundir.digest_log import NAME
from fedward.rundir.manifest import Manifest
from fedward.rundir.own_files import NotPlain, require_own_files
from fedward.rundir.place import SWEPT
from fedward.rundir.signature import CheckedSignature, check_signatures, fingerprint_of
from fedward.rundir.store import RunDirectory
from fedward.rundir.sweep_record import sweep_has_digests
from fedward.studies.stored_data import Library
from fedward.studies.verification.verification import Findings, Kind, Matched, Verification
from fedward.studies.verification.verified_audit import verify_audit
from fedward.studies.verification.verified_inference import verify_inference
from fedward.studies.verification.verified_replicas import Summarise, verify_replicas
from fedward.studies.verification.verified_sweep import verify_sweep
from fedward.studies.verification.verified_training import verify_training

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_FORGED = "it says nothing about who vouches for this run"
_RENEWED = "whoever can write files can renew their digests"


class Verifier:
    """Verifies runs; data that several of them have is loaded once.

    Args:
      data: where data sets lie; without it only what needs no directory is loaded.
      key: that runs should be signed by.
      summarise_certified: makes ``certified.json`` again.
    """

    def __init__(
        self, data: Path | None, key: Ed25519PublicKey | None, summarise_certified: Summarise
    ) -> None:
        self._library, self._key, self._summarise = Library(data), key, summarise_certified

    @storing_no_epsilon()
    def verify(self, path: Path) -> Verification:
        """What is damaged, what is as it is stated, and what rests on trust.

        Where nothing can be read it raises; of several runs each is verified, whatever is wrong with others.
        """
        return self._verify(path, self._key)

    def _verify(self, path: Path, key: Ed25519PublicKey | None) -> Verification:
        if path.is_file():
            return self._weights(path, key)
        if not path.is_dir():
            raise InvalidValue(f"{path} must be a directory of runs, or a file of weights, got nothing there")
        sweep = any((path / name).exists() for name in (SWEPT, "sweep.json"))
        if (path / "run.json").exists() or ((path / NAME).exists() and not sweep):
            return self._run(path, key)
        if sweep:
            return self._sweep(path, key)
        members = tuple(self._guarded(each, key) for each in _places_below(path))
        if not members:
            raise InvalidValue(f"{path} must hold runs to verify, got a directory without any")
        return Verification(path=path, kind="runs", members=members, wanted_key=_name_of(key))

    def guarded(self, path: Path) -> Verification:
        """The same, for one of several: one that cannot be read at all hides no other."""
        return self._guarded(path, self._key)

    def _guarded(self, path: Path, key: Ed25519PublicKey | None) -> Verification:
        try:
            return self._verify(path, key)
        except (InvalidValue, OSError) as error:
            findings = Findings(path)
            findings.add_error("run.json", error)
            return findings.verification("unknown", NO_DIGESTS, wanted_key=_name_of(key))

    def _run(self, path: Path, key: Ed25519PublicKey | None) -> Verification:
        if (refused := _refuse_others(path, key)) is not None:
            return refused
        findings, manifest = Findings(path), None
        kind: Kind = "unknown"
        with findings.step("readable", "run.json", "what was run can be read"):
            manifest = RunDirectory(path).manifest()
        digests = _compare(findings, has_digests=manifest is not None and manifest.digests > 0)
        if manifest is not None:
            kind = _kind(manifest)
            if kind == "replicas":
                verify_replicas(findings, manifest, self._library, self._summarise)
            elif kind == "run":
                verify_training(findings, manifest, self._library)
            elif kind == "audit":
                verify_audit(findings, manifest)
            else:
                verify_inference(findings, manifest, self._library)
        return _signed(findings, kind, digests, key)

    def _sweep(self, path: Path, key: Ed25519PublicKey | None) -> Verification:
        if (refused := _refuse_others(path, key)) is not None:
            return refused
        findings, has_digests = Findings(path), False
        with findings.step("readable", SWEPT, "what is swept can be read"):
            has_digests = sweep_has_digests(path)
        digests = _compare(findings, has_digests=has_digests)
        folders = [each for each in _places_below(path) if each.parent == path]
        verify_sweep(findings, [each.name for each in folders])
        # The signature of a sweep covers its trainings: these need none of their own.
        members = tuple(self._guarded(each, None) for each in folders)
        return _signed(findings, "sweep", digests, key, members)

    def _weights(self, path: Path, key: Ed25519PublicKey | None) -> Verification:
        findings, content = Findings(path.parent), read_limited(path)
        if not weights_file.is_weights_file(content):
            raise InvalidValue(
                f"{path} must be a file of weights by fedward pretrain, or a directory of runs"
            )
        with findings.step("seal", path.name, "the weights, by the digest that they begin with"):
            weights_file.from_bytes(content, str(path))
        findings.trust("trainings", "that they come from the training that they name: nothing was trained")
        digests = Digests(checked=1)
        return findings.verification("weights", digests, path=path, wanted_key=_name_of(key))


def _refuse_others(path: Path, key: Ed25519PublicKey | None) -> Verification | None:
    """What is said of a directory of which nothing is read: a pipe or a device in it may have no end."""
    try:
        require_own_files(path)
    except NotPlain as error:
        wrong = Damage(
            file=path / error.name,
            kind="unexpected",
            means="what is in it may be anything, so that nothing of this directory was read",
            remedy="remove it if you trust the rest",
            found=f"is {error.what}, not a plain file of its owner",
        )
        return Verification(path=path, kind="unknown", damage=(wrong,), wanted_key=_name_of(key))
    return None


def _signed(
    findings: Findings,
    kind: Kind,
    digests: Digests,
    key: Ed25519PublicKey | None,
    members: tuple[Verification, ...] = (),
) -> Verification:
    """All of it as a record, with the signatures."""
    damage = (*findings.damage, *(damage for each in members for damage in each.all_damage))
    signatures = tuple(_of_files(each, damage) for each in check_signatures(findings.path, key))
    for each in signatures:
        if each.state == "invalid":
            remedy = "remove it, and have the run signed again"
            findings.damage.append(Damage(file=each.file, kind="changed", means=_FORGED, remedy=remedy))
    if not any(each.expected and each.state == "valid" for each in signatures):
        whose = "by nobody that you know (--key)" if signatures else "by nobody"
        findings.trust("author", f"that nobody changed it on purpose: it is signed {whose}, and {_RENEWED}")
    return findings.verification(
        kind, digests, signatures=signatures, members=members, wanted_key=_name_of(key)
    )


def _of_files(signature: CheckedSignature, damage: Sequence[Damage]) -> CheckedSignature:
    """The signature, which was compared with digests, for the files as they are: damaged ones void it."""
    changed = {
        str(each.file.relative_to(signature.file.parent))
        for each in damage
        if each.kind != "contradicts" and each.file.is_relative_to(signature.file.parent)
    }
    if signature.state != "valid" or not changed:
        return signature
    return replace(signature, state="changed", changed=tuple(sorted(changed)))


def _compare(findings: Findings, *, has_digests: bool) -> Digests:
    """Compares all files with their digests."""
    try:
        digests, damage = find_damage(findings.path, has_digests=has_digests)
    except (InvalidValue, OSError) as error:
        findings.add_error(NAME, error)
        return NO_DIGESTS
    findings.damage += damage
    if not digests.there:
        findings.trust("digests", str(digests))
    elif not damage:
        findings.matched.append(Matched(what="digests", says=str(digests)))
    return digests


def _name_of(key: Ed25519PublicKey | None) -> str:
    return "" if key is None else fingerprint_of(key)


def _kind(manifest: Manifest) -> Kind:
    if manifest.variants is not None:
        return "replicas"
    about = manifest.inference
    if manifest.audit is not None:
        return "audit"
    if about is None:
        return "run"
    return "property" if about.get("kind") == "property" else "membership"


def _places_below(path: Path) -> Iterator[Path]:
    """Every run and sweep below a directory; the trainings of a sweep belong to it."""
    sweeps: list[Path] = []
    for each in sorted(path.rglob(SWEPT)):
        if each.parent != path:
            sweeps.append(each.parent)
            yield each.parent
    for run in run_directories(path):
        if run != path and not any(sweep in run.parents for sweep in sweeps):
            yield run
