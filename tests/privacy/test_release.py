from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from fedward.privacy.losses import Losses, hockey_stick
from fedward.privacy.release import discretise_release

STEP = 1e-4
LAWS = [(0.1, 3.0), (0.01, 1.0), (1.0, 2.0), (0.3, 0.1), (1e-6, 0.5), (0.999, 0.8)]


def true_divergence(q: float, z: float, place: int, removed: bool) -> mp.mpf:
    """sup_E P(E) - e^ε Q(E) of one release at a point of the grid, with 220 digits."""
    with mp.workdps(220):
        q, z, epsilon = mp.mpf(q), mp.mpf(z), place * mp.mpf(STEP)
        ratio = mp.exp(epsilon if removed else -epsilon)
        if ratio <= 1 - q:  # every loss is larger, or none
            return 1 - mp.exp(epsilon) if removed else mp.mpf(0)
        y = z * mp.log((ratio - 1 + q) / q) + 1 / (2 * z)
        sign = 1 if removed else -1

        def mass(shift: mp.mpf) -> mp.mpf:
            return mp.ncdf(sign * (shift - y))

        base, mixture = mass(mp.mpf(0)), (1 - q) * mass(mp.mpf(0)) + q * mass(1 / z)
        return mixture - mp.exp(epsilon) * base if removed else base - mp.exp(epsilon) * mixture


@pytest.mark.parametrize(("q", "z"), LAWS)
@pytest.mark.parametrize("removed", [True, False])
def test_the_curve_of_a_release_is_exact_on_the_grid_down_to_its_tails(
    q: float, z: float, removed: bool
) -> None:
    one = discretise_release(q, z, 1e-60, STEP)
    law = one.removed if removed else one.added
    curve = hockey_stick(law, STEP)
    for place in np.linspace(1, len(curve) - 2, 9).astype(int):
        true = true_divergence(q, z, int(place), removed)
        if true > 1e-50:
            # Summed by a running total, which is right to fewer digits than the masses themselves.
            assert float(mp.mpf(curve[place]) / true) == pytest.approx(1.0, rel=2e-6)


@pytest.mark.parametrize(("q", "z"), LAWS)
@pytest.mark.parametrize("removed", [True, False])
def test_a_mass_in_the_tail_has_as_many_digits_as_one_in_the_middle(
    q: float, z: float, removed: bool
) -> None:
    one = discretise_release(q, z, 1e-60, STEP)
    law = one.removed if removed else one.added
    for place in np.linspace(2, len(law.mass) - 3, 13).astype(int):
        # Connecting the dots: the second difference of the exact curve.
        with mp.workdps(220):
            before, here, after = (
                true_divergence(q, z, law.first + int(place) + d, removed) for d in (-1, 0, 1)
            )
            growth = mp.exp(mp.mpf(STEP))
            true = ((after - here) - growth * (here - before)) / (growth - 1)
        # The blur is moved up from one point to the next, its share of a step.
        moved = 2 * one.blur / STEP * float(law.mass[place - 1 : place + 2].sum())
        assert abs(float(mp.mpf(float(law.mass[place])) - true)) <= 4e-11 * float(true) + moved


@pytest.mark.parametrize(("q", "z"), LAWS)
def test_nothing_is_lost_and_little_is_left_out(q: float, z: float) -> None:
    one = discretise_release(q, z, 1e-30, STEP)
    for law in (one.removed, one.added):
        assert math.fsum(law.mass) == pytest.approx(1.0, rel=1e-13)
        assert 0 <= law.infinite <= 1e-30
        assert (law.mass >= 0).all()
    assert one.blur < 1e-12


def test_the_pair_is_mirrored_where_everybody_takes_part() -> None:
    one = discretise_release(1.0, 2.0, 1e-20, STEP)

    def mean(law: Losses) -> float:
        return STEP * float(law.mass @ (law.first + np.arange(len(law.mass))))

    # The loss of a Gaussian has the mean 1 / (2 z²) in either direction; the grid spreads it a little.
    assert mean(one.removed) == pytest.approx(0.125, abs=1e-8)
    assert mean(one.added) == pytest.approx(0.125, abs=1e-8)
