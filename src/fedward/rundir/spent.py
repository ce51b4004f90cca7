"""The privacy that a run has spent: its guarantee and every ε, computed from its ledgers alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from fedward.base.validate import InvalidValue, add_to_errors
from fedward.privacy import Guarantee, Ledger
from fedward.privacy.caveats import add_caveat
from fedward.privacy.remembered import guarantee_of, guarantee_or_rdp, guarantees_of
from fedward.privacy.shares import shares
from fedward.privacy.spending import mechanisms
from fedward.privacy.user_ledgers import UserLedgers
from fedward.rundir.audit_result import AuditResult
from fedward.rundir.manifest import Manifest
from fedward.rundir.results import InferenceResult, TrainingResult
from fedward.rundir.server_looks import LOOKS_LEFT_OUT, add_looks, looks_alone

Promised = TypeVar("Promised", bound=TrainingResult | InferenceResult | AuditResult)

# Machines differ in the last bits of a float, not in what was spent.
_ROUNDING = 1e-9
# What the result of a run says with an ε in it.
_WITH_EPSILON = (
    *("users", "each_user", "looks", "shares", "epsilon_of_model", "epsilon_of_looks"),
    *("papers_claim", "papers_claim_statement"),
)
_CONSERVATIVE = "the conservative bound"
_CLAIM = "the paper's claim"
_REMEDY = "put back the file that was changed, or remove result.json, and the same command makes it again"


@dataclass(frozen=True, kw_only=True)
class Spent:
    """The ledgers of a run directory.

    Args:
      folder: the directory.
      ledger: the server's; None before the first round.
      users: those of users that protect themselves.
      papers: of what a paper claims for this training, where that is something else.
      problem: why it is not known what was spent; empty if it is.
    """

    folder: Path
    ledger: Ledger | None = None
    users: UserLedgers | None = None
    papers: Ledger | None = None
    problem: str = ""

    @property
    def file(self) -> Path:
        """The file that the guarantee is computed from."""
        return self.folder / ("users.json" if self.users is not None else "ledger.json")

    def accounting(self, manifest: Manifest) -> tuple[float, str]:
        """The δ and the accountant that the run is accounted with."""
        delta, accountant = manifest.delta, manifest.accountant
        if delta is None or accountant is None:
            missing = "delta" if delta is None else "accountant"
            raise InvalidValue(f"{self.folder / 'run.json'} is damaged: it does not say {missing!r}")
        return delta, accountant

    def guarantee(self, manifest: Manifest) -> Guarantee | None:
        """What is guaranteed so far, what is reserved included; None before the first round."""
        accounting = self.accounting(manifest)
        with add_to_errors(f"what {self.folder} has spent cannot be computed: "):
            if self.problem:
                found = unknown_guarantee(self.problem, *accounting)
            elif self.users is not None:
                found = add_looks(guarantees_of(self.users, *accounting).worst, self.users, self.ledger)
            elif self.ledger is not None:
                found = guarantee_or_rdp(with_declared_adjacency(self.ledger, manifest), *accounting)
            else:
                return None
        return add_caveat(found, manifest.all_caveats)


def with_declared_adjacency(ledger: Ledger, manifest: Manifest) -> Ledger:
    """The ledger for the adjacency that its training has; version 1 called every one add/remove.

    It did not say what sums were divided by. Where the experiment declares no number of users, that followed
    the data.
    """
    unsaid = ledger.terms.noise_of in ("server", "looks") and ledger.terms.divisor is None
    undeclared = isinstance(manifest.experiment.get("privacy"), dict) and not manifest.declared_users
    counted = unsaid and undeclared and ledger.adjacency == "add/remove"
    return replace(ledger, adjacency="zero-out") if counted else ledger


def spending_for_result(spent: Spent, manifest: Manifest) -> dict[str, Any]:
    """The fields of a result that say what was spent: guarantee, shares, those of users; and in words."""
    guarantee, (delta, accountant) = spent.guarantee(manifest), spent.accounting(manifest)
    assert guarantee is not None  # a run has a result after its last round
    found: dict[str, Any] = {"guarantee": guarantee, "statement": str(guarantee)}
    if spent.problem:
        return found
    if spent.users is not None:
        own = guarantees_of(spent.users, delta, accountant)
        found |= {"users": own.to_json(), "each_user": str(own)}
        if spent.ledger is not None and mechanisms(spent.ledger.spending):
            found["looks"] = looks_alone(guarantee_or_rdp(spent.ledger, delta, accountant))
    elif spent.ledger is not None and (parts := shares(spent.ledger, delta, accountant)) is not None:
        found |= parts.to_json()
        found["shares"] = [str(parts)] + [parts.as_the_papers_add] * (accountant == "moments")
    if spent.papers is not None:
        claim = guarantee_of(spent.papers, delta, "moments")
        found["statement"] = f"{_CONSERVATIVE}: {guarantee}"
        found |= {"papers_claim": claim, "papers_claim_statement": f"{_CLAIM}: {claim}"}
    return found


def result_from_ledgers(result: Promised, manifest: Manifest, spent: Spent) -> Promised:
    """The result of a run with every ε, and every sentence about one, computed from its ledgers.

    Raises if the result states other numbers than they come to, with both files and both numbers.

    Args:
      result: of ``result.json``.
      manifest: of ``run.json``.
      spent: the ledgers beside it.
    """
    rest = {key: getattr(result, key) for key in result.model_fields_set if key not in _WITH_EPSILON}
    found = spent.guarantee(manifest)
    if spent.problem or found is None:
        problem = spent.problem or reason_unknown(spent.folder / "ledger.json")
        none = replace(result.guarantee, epsilon=math.inf, caveat="", reason=problem)
        return type(result)(**rest | {"guarantee": none, "statement": str(none)})
    fresh = spending_for_result(spent, manifest)
    training = result if isinstance(result, TrainingResult) else None
    if training is not None and training.looks.startswith(LOOKS_LEFT_OUT) and spent.ledger is not None:
        # Its ledgers say so too, and give no ε: there is none to compare.
        looks = guarantee_or_rdp(spent.ledger, found.delta, found.accountant)
        return type(result)(**rest | fresh | {"looks": f"{LOOKS_LEFT_OUT}: {looks}"})
    require_same(result.guarantee, found, spent.folder / "result.json", spent.file)
    if training is not None:
        _require_same_parts(training, fresh, spent)
    return type(result)(**rest | fresh)


def _require_same_parts(result: TrainingResult, fresh: dict[str, Any], spent: Spent) -> None:
    """Refuses shares, what users have spent and a paper's claim that are not what the ledgers come to.

    A run of an earlier version has no ledger of what a paper claims: ``fresh`` gets words in its place.
    """
    file = spent.folder / "result.json"
    for key in ("epsilon_of_model", "epsilon_of_looks"):
        if result.says(key):
            require_number(key, getattr(result, key), fresh.get(key), file, spent.file)
    if result.users is not None:
        stated, users = result.users.to_json(), fresh.get("users")
        if not _same_tree(stated, users):
            raise _mismatch_error(file, _spread(stated), spent.file, _spread(users))
    if result.papers_claim is not None and spent.papers is not None:
        papers = spent.folder / "papers-ledger.json"
        require_same(result.papers_claim, fresh["papers_claim"], file, papers)
    elif result.papers_claim is not None:
        told = "not shown, as the run is of an earlier version, which stored no ledger of it"
        fresh["statement"] = f"{_CONSERVATIVE}: {fresh['statement']}"
        fresh["papers_claim_statement"] = f"{_CLAIM}: {told}"


def require_same(stated: Guarantee, found: Guarantee, file: Path, ledger: Path) -> None:
    """Refuses a stored guarantee that is not what its ledger comes to; words may be an older version's."""
    if not _nearly_equal(stated.epsilon, found.epsilon):
        raise _mismatch_error(file, _epsilon(stated), ledger, _epsilon(found))
    # Version 1 said add/remove where it is zero-out: see `with_declared_adjacency`.
    mended = stated.adjacency == "add/remove" and found.adjacency == "zero-out" and not found.terms.declared
    for name in ("delta", "unit", "adjacency", "accountant", "noise_source", "rounds"):
        if getattr(stated, name) != getattr(found, name) and not (mended and name == "adjacency"):
            told = f"{name.replace('_', ' ')} = {getattr(stated, name)}"
            raise _mismatch_error(file, told, ledger, getattr(found, name))


def require_number(name: str, stated: Any, found: float | None, file: Path, ledger: Path) -> None:
    """Refuses a stored number that is not what a ledger comes to."""
    if not _nearly_equal(stated, found):
        raise _mismatch_error(file, f"{name} = {stated}", ledger, found)


def reason_unknown(file: Path) -> str:
    """Why nothing is known of what was spent."""
    return f"what was spent is not known, {file} is missing"


def _mismatch_error(file: Path, stated: str, ledger: Path, found: object) -> InvalidValue:
    return InvalidValue(f"{file} says {stated}, and {ledger} comes to {found}: {_REMEDY}")


def _epsilon(guarantee: Guarantee) -> str:
    return f"ε = {guarantee.epsilon:.12g}" if guarantee.private else "no guarantee"


def _spread(users: Any) -> str:
    known = users if isinstance(users, dict) else {}
    return f"users' ε of median {known.get('median')} and at most {known.get('largest')}"


def _nearly_equal(a: Any, b: Any) -> bool:
    """
    >>> _nearly_equal(0.925, 0.925 * (1 + 1e-12)), _nearly_equal(0.925, 0.125)
    (True, False)
    >>> _nearly_equal(math.inf, math.inf), _nearly_equal(None, 1.0)
    (True, False)
    """
    numbers = all(isinstance(each, int | float) for each in (a, b))
    return math.isclose(a, b, rel_tol=_ROUNDING) if numbers else bool(a == b)


def _same_tree(a: Any, b: Any) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same_tree(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same_tree, a, b))
    return _nearly_equal(a, b)


def unknown_guarantee(why: str, delta: float = 0.5, accountant: str = "rdp") -> Guarantee:
    """No guarantee, and why; nothing else of it is known."""
    return Guarantee(
        epsilon=math.inf,
        delta=delta,
        unit="user",
        adjacency="add/remove",
        sampling="",
        accountant=accountant,
        noise_source="seeded",
        rounds=0,
        reason=why,
    )
