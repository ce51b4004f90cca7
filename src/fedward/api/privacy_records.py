"""The answers of ``fedward.epsilon`` and ``fedward.calibrate``, which say, draw and save themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from fedward.api.saved_record import SavedRecord
from fedward.privacy import Guarantee, Ledger
from fedward.privacy.accounting_events import RandomAllocationDpEvent
from fedward.privacy.shares import Shares
from fedward.privacy.spending import mechanisms

if TYPE_CHECKING:
    from fedward.reports.pictures.picture import Picture

_POINTS = 16

Searched = Literal["noise_multiplier", "rounds"]


@dataclass(frozen=True, kw_only=True, repr=False)
class EpsilonRecord(SavedRecord):
    """What a training spends.

    Args:
      guarantee: (ε, δ) and all that it is about.
      ledger: what it was computed from.
      rounds: T.
      parts: the shares of the model's noise and of looks at norms, where there are looks.
    """

    guarantee: Guarantee
    ledger: Ledger
    rounds: int
    parts: Shares | None = None

    @property
    def epsilon(self) -> float:
        return self.guarantee.epsilon

    @property
    def delta(self) -> float:
        return self.guarantee.delta

    @property
    def words(self) -> tuple[str, ...]:
        """What a person is told."""
        told = [str(self.guarantee)]
        if self.parts is not None:
            told.append(str(self.parts))
            told += [self.parts.as_the_papers_add] * (self.guarantee.accountant == "moments")
        return tuple(told)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.words[0]})"

    def to_json(self) -> dict[str, Any]:
        """Plain values, with all digits."""
        content = self.guarantee.to_json()
        return content if self.parts is None else content | self.parts.to_json()

    def rows(self) -> list[dict[str, Any]]:
        """ε after some numbers of rounds, up to the last; the last alone where rounds differ."""
        parts = mechanisms(self.ledger.spending)
        whole = self.guarantee.terms.participation is not None  # charged once, however many rounds there are
        if len(parts) != 1 or whole or not self.guarantee.private:
            return [self._row(self.rounds, self.guarantee)]
        ((event, count),) = parts
        # One event is a round, or an epoch of them.
        each = event.epoch if isinstance(event, RandomAllocationDpEvent) else 1
        points = sorted({max(1, round(count * part / _POINTS)) for part in range(1, _POINTS)} - {count})
        empty = self.ledger.empty()
        return [
            *(self._row(t * each, self._after(empty.charged(event, t))) for t in points),
            self._row(self.rounds if each > 1 else count, self.guarantee),
        ]

    def _after(self, ledger: Ledger) -> Guarantee:
        return ledger.guarantee(self.delta, self.guarantee.accountant)

    def _row(self, rounds: int, guarantee: Guarantee) -> dict[str, Any]:
        return {"rounds": rounds, "epsilon": guarantee.epsilon, "delta": guarantee.delta}

    def plot(self, style: str = "screen") -> Picture:
        """ε against the number of rounds."""
        from fedward.reports.pictures.sketch import Sketch

        rows = self.rows()
        told = f"δ = {self.delta:.3g}, {self.guarantee.unit} level, {self.guarantee.adjacency}"
        sketch = Sketch([told], (6.0, 4.0), style)
        (panel,) = sketch.panels
        x, y = [0, *(row["rounds"] for row in rows)], [0.0, *(row["epsilon"] for row in rows)]
        panel.line("ε", x, y, label=None)
        panel.label(x="rounds", y="ε", bottom=0.0)
        return sketch.picture()


@dataclass(frozen=True, kw_only=True, repr=False)
class CalibrationRecord(EpsilonRecord):
    """The least noise for a number of rounds, or the most rounds for a noise, within an ε.

    Args:
      noise_multiplier: z.
      target: the ε that may be spent.
      searched: which of them was found.
    """

    noise_multiplier: float
    target: float
    searched: Searched

    @property
    def words(self) -> tuple[str, ...]:
        """What was found, and what it guarantees."""
        z, t = self.noise_multiplier, self.rounds
        found = f"noise multiplier {z:.4f} for {t} rounds"
        if self.searched == "rounds":
            found = f"{t} rounds with noise multiplier {z:g}"
        return found, str(self.guarantee)

    def to_json(self) -> dict[str, Any]:
        """Plain values, with all digits."""
        own = {"noise_multiplier": self.noise_multiplier, "steps": self.rounds, "target_epsilon": self.target}
        return self.guarantee.to_json() | own
