"""Numbers as people read them, on the page and on the terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

from fedward.privacy.rounding import percent_down, round_up_digits
from fedward.rundir.results import Measured

T = TypeVar("T")
_PER_CENT = "\xa0%"  # no line ends between a number and its sign


def percent(share: float | None, digits: int = 1) -> str:
    """A share in percent. What is not all of them is never rounded to all of them.

    >>> percent(0.8502), percent(0.9996), percent(None)
    ('85.0\\xa0%', '99.9\\xa0%', 'none')
    """
    if share is None or not math.isfinite(share):
        return "none"
    nearly = 100.0 - 10.0**-digits
    return f"{min(100 * share, nearly) if share < 1 else 100 * share:.{digits}f}{_PER_CENT}"


def percent_certified(share: float, digits: int = 1) -> str:
    """A share that is certified, in percent, rounded down.

    >>> percent_certified(0.84996)
    '84.9\\xa0%'
    """
    return percent_down(share, digits).removesuffix("%") + _PER_CENT


def figure(value: float | None) -> str:
    """A number with three or four digits that count.

    >>> figure(0.00294352), figure(12.0), figure(1234567.0), figure(None)
    ('0.002944', '12', '1.235e+06', 'none')
    """
    return "none" if value is None or not math.isfinite(value) else f"{value:.4g}"


def factor(epsilon: float) -> str:
    """e^ε: how many times as often; rounded up, so that a promise does not look better than it is.

    >>> factor(1.0), factor(6.8), factor(40.0)
    ('2.72', '898', '3 x 10^17')
    """
    if epsilon > 13:
        tens, rest = divmod(epsilon / math.log(10), 1)
        lead = math.ceil(10**rest)
        return f"{lead} x 10^{int(tens)}" if lead < 10 else f"10^{int(tens) + 1}"
    value = math.exp(epsilon)
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{_up(value, digits):,.{digits}f}"


def at_most_figure(value: float) -> str:
    """A number that a promise may not fall below, with four digits that count, rounded up.

    >>> at_most_figure(1.35249), at_most_figure(0.1), at_most_figure(1e-5), at_most_figure(0.0)
    ('1.353', '0.1', '1e-05', '0')
    """
    return round_up_digits(value) if math.isfinite(value) else "none"


def many(count: int, thing: str) -> str:
    """
    >>> many(1, "round"), many(1200, "user")
    ('1 round', '1,200 users')
    """
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def finite(value: float | None, form: str = ".4f") -> str:
    """A number that a file may have as null, where it was not finite.

    >>> finite(0.5), finite(0.5, ".2%"), finite(None)
    ('0.5000', '50.00%', 'not finite')
    """
    return "not finite" if value is None else format(value, form)


def measures_in_words(metrics: Measured | None) -> tuple[str, ...]:
    """Accuracy and attack success, as far as they are known.

    >>> measures_in_words(Measured(accuracy=0.9166, loss=0.3, attack_success=0.5, attack_cost=None))
    ('accuracy 91.7 %', 'attack success 50.0 %')
    """
    known = metrics or Measured()
    shares = {"accuracy": known.accuracy, "attack success": known.attack_success}
    return tuple(f"{name} {100 * share:.1f} %" for name, share in shares.items() if share is not None)


def duration(seconds: float) -> str:
    """
    >>> duration(3.2), duration(100), duration(5400), duration(300000)
    ('3 s', '2 min', '1.5 h', '3.5 days')
    """
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"


def size(count: float) -> str:
    """
    >>> size(999), size(1_250_000)
    ('999 bytes', '1.2 MB')
    """
    if count < 1000:
        return f"{count:.0f} bytes"
    power = min(4, int(math.log10(count) / 3 + 1e-12))
    return f"{count / 1000**power:.1f} {('', 'kB', 'MB', 'GB', 'TB')[power]}"


def thin(items: Sequence[T], most: int) -> list[T]:
    """At most so many, evenly spread, the first and the last among them.

    >>> thin(range(100), 4)
    [0, 33, 66, 99]
    """
    if len(items) <= most:
        return list(items)
    return [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)]


def best_guess(epsilon: float, delta: float) -> float:
    """How often the best guess is right, at most, where a coin would be right half of the time.

        (e^ε + δ) / (e^ε + 1)

    What (ε, δ) allows an observer who has to tell two neighbours apart that are equally likely
    (Kairouz, Oh and Viswanath 2015).

    >>> round(best_guess(1.0, 0.0), 4), best_guess(0.0, 0.0), best_guess(1000.0, 0.1)
    (0.7311, 0.5, 1.0)
    """
    return min(1.0, 1.0 - (1.0 - delta) / (math.exp(min(epsilon, 700.0)) + 1.0))


def at_most(share: float) -> str:
    """A share as a percentage that is not rounded down.

    >>> at_most(0.73101), at_most(0.9999999), at_most(1.0)
    ('73.2\\xa0%', 'practically 100\\xa0%', '100\\xa0%')
    """
    if share >= 1:
        return f"100{_PER_CENT}"
    return f"{_up(100 * share, 1):.1f}{_PER_CENT}" if share <= 0.999 else f"practically 100{_PER_CENT}"


def _up(value: float, digits: int) -> float:
    tens = 10.0**digits
    return math.ceil(value * tens - 1e-9) / tens
