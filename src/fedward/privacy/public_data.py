"""A declaration of the public data that shaped what is trained, and which no ε covers."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from fedward.base.validate import InvalidType, InvalidValue, whole


@dataclass(frozen=True, kw_only=True)
class PublicData:
    """The public data behind the features that users compute, and behind the subspace that the server keeps.

    Nothing is guaranteed to whoever is behind public data, and no certificate counts who poisoned them.

    Args:
      features: the name of the features; empty if users train on their examples.
      users: how many users of the data were declared public: their examples were used, and they are no
        members of the federation.
      labels: whether their labels were used.
      source: other public data that the features were fitted to, such as the file of a network; empty for
        none.
      source_labels: whether labels of these were used.
      subspace: the public data that the server's subspace was fitted to; empty for none.
      subspace_labels: whether labels of these were used.

    >>> print(PublicData(features="hog", users=60))
    public features hog, fitted without labels to 60 public users who are not covered
    >>> print(PublicData(features="hog"))
    public features hog, fitted to no data
    >>> print(PublicData(features="", subspace="tweets of 2009 (v.npy, 3f09aa1b22c4)"))
    a public subspace fitted without labels to tweets of 2009 (v.npy, 3f09aa1b22c4), which is not covered
    """

    features: str
    users: int = 0
    labels: bool = False
    source: str = ""
    source_labels: bool = False
    subspace: str = ""
    subspace_labels: bool = False

    def __post_init__(self) -> None:
        for name in ("features", "source", "subspace"):
            value = getattr(self, name)
            if not isinstance(value, str) or len(value.splitlines()) > 1:
                raise InvalidType(f"{name} of public data must be one line of text, got {value!r}")
        if not self.features and (self.users or self.source or not self.subspace):
            raise InvalidValue("features of public data must have a name, got none")
        whole("public users", self.users, at_least=0)
        data = {"labels": self.users, "source_labels": self.source, "subspace_labels": self.subspace}
        for name, of in data.items():
            value = getattr(self, name)
            if not isinstance(value, bool):
                raise InvalidType(f"{name} of public data must be true or false, got {value!r}")
            if value and not of:
                raise InvalidValue(f"{name} of public data need public data, got none")

    def __str__(self) -> str:
        return " and ".join(filter(None, (self._features(), self._subspace())))

    def _subspace(self) -> str:
        if not self.subspace:
            return ""
        how = "with" if self.subspace_labels else "without"
        return f"a public subspace fitted {how} labels to {self.subspace}, which is not covered"

    def _features(self) -> str:
        if not self.features:
            return ""
        fitted = []
        if self.users:
            how = "with" if self.labels else "without"
            who = "1 public user who is" if self.users == 1 else f"{self.users:,} public users who are"
            fitted.append(f"fitted {how} labels to {who} not covered")
        if self.source:
            how = "with" if self.source_labels else "without"
            fitted.append(f"trained {how} labels on {self.source}, which is not covered")
        return f"public features {self.features}, {' and '.join(fitted) or 'fitted to no data'}"

    def to_json(self) -> dict[str, Any]:
        """Plain values; without a subspace as they were before there was any."""
        content = asdict(self)
        return content if self.subspace else {key: content[key] for key in content if key not in _LATER}

    @classmethod
    def from_json(cls, content: Any) -> PublicData:
        """What ``to_json`` wrote; every key must be there, and no other."""
        names = [field.name for field in fields(cls)]
        first = [name for name in names if name not in _LATER]
        if not isinstance(content, dict) or content.keys() not in (set(first), set(names)):
            raise InvalidValue(f"public data must have the keys {', '.join(first)}, got {content!r}")
        return cls(**content)


# Keys that earlier versions did not have.
_LATER = {"subspace", "subspace_labels"}
