from __future__ import annotations

import math
from pathlib import Path

from fedward.reports.page.words.certificate_words import headline, in_words
from fedward.rundir.run_record import load


def test_a_certificate_in_words_is_what_its_numbers_say(certified_run: Path) -> None:
    certificate = load(certified_run).certificates["all"]  # type: ignore[union-attr]
    for attack in certificate.attacks:
        k = headline(attack)
        accuracy = attack.accuracy
        assert accuracy is not None
        assert accuracy[k] >= 0.5
        assert k + 1 == len(accuracy) or accuracy[k + 1] < 0.5
        first, confidence = in_words(certificate, attack, k)
        assert f"{math.floor(1000 * accuracy[k] + 1e-9) / 10:.1f}\xa0% of the test examples" in first
        assert f"{k} attackers" in first
        assert "on average over its own randomness" in first
        assert "99\xa0%" in confidence
        assert "by itself" in confidence


def test_nothing_certified_is_said_plainly(certified_run: Path) -> None:
    certificate = load(certified_run).certificates["all"]  # type: ignore[union-attr]
    attack = certificate.attacks[0]
    (only,) = in_words(certificate, attack, len(attack.accuracy or ()) + 5)
    assert only.startswith("Nothing is certified")
