"""The rules of a node: what leaves it, protected by whom, and how much may be spent."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from fedward.base.validate import InvalidType, InvalidValue
from fedward.deploy.toml_tables import read_toml, require_known, require_private
from fedward.privacy.budget import Budget

_PATHS = ("ledger", "private_key")


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What the owner of the data allows. No message of a server changes any of it.

    Either the server is trusted with updates as they are trained, and protects the released models by its
    noise; or every user protects itself before anything leaves the node, and has a ledger and a budget there.

    Args:
      trust_server: true: updates leave without noise of the users' own. False: nothing leaves but what users
        have clipped and noised, with noise that nobody else has drawn.
      epsilon, delta, accountant: the budget of each user, over all runs of all servers. Needed unless
        ``trust_server``.
      ledger: the directory of the node's ledger. Needed unless ``trust_server``.
      show_norms: whether a server whose clip policy looks at norms is told the norm of an update before its
        noise; the noise that the server declares for its looks is charged, and has to be believed.
      seeded_noise: whether noise may come from seeds that the server sends. For research only: whoever knows
        a seed can take the noise off again.
      private_key: the node's key, if its mode is to be checked whenever it works.

    >>> Rules(trust_server=False, epsilon=8.0, delta=1e-5, ledger=Path("ledger")).budget.epsilon
    8.0
    >>> Rules(trust_server=False)
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: rules of users that protect themselves must give epsilon, delta and \
ledger; with trust_server = true the server protects them
    """

    trust_server: bool
    epsilon: float | None = None
    delta: float | None = None
    accountant: str = "pld"
    ledger: Path | None = None
    show_norms: bool = False
    seeded_noise: bool = False
    private_key: Path | None = None

    def __post_init__(self) -> None:
        for name in ("trust_server", "show_norms", "seeded_noise"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidType(f"{name} must be true or false, got {getattr(self, name)!r}")
        own = (self.epsilon, self.delta, self.ledger)
        if self.trust_server:
            if any(value is not None for value in own):
                raise InvalidValue(
                    "epsilon, delta and ledger are of users that protect themselves: leave them out, or say "
                    "trust_server = false"
                )
        elif any(value is None for value in own):
            raise InvalidValue(
                "rules of users that protect themselves must give epsilon, delta and ledger; with "
                "trust_server = true the server protects them"
            )
        else:
            _ = self.budget

    @property
    def budget(self) -> Budget:
        """Of each user."""
        if self.epsilon is None or self.delta is None:
            raise InvalidValue("rules that trust the server have no budget")
        return Budget(epsilon=self.epsilon, delta=self.delta, accountant=self.accountant)

    def check_files(self) -> None:
        """Refuses a private key that others may read."""
        if self.private_key is not None:
            require_private(self.private_key, "private key")


def read_rules(path: Path) -> Rules:
    """The rules of a file; paths in it are seen from where it lies."""
    content = read_toml(path)
    require_known(content, [field.name for field in fields(Rules)], str(path))
    if "trust_server" not in content:
        raise InvalidValue(f"{path}: trust_server must be given, true or false")
    for name in _PATHS:
        if name in content:
            if not isinstance(content[name], str) or not content[name]:
                raise InvalidType(f"{path}: {name} must be a path in quotes, got {content[name]!r}")
            content[name] = path.parent / content[name]
    try:
        return Rules(**content)
    except InvalidValue as error:
        raise InvalidValue(f"{path}: {error}") from error
