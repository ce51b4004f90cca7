"""Every ε that Xie et al. and Miao et al. print, with the parameters they print or that reproduce it.

A row is (where, sampling rate, steps a round, δ, [(σ, rounds, printed ε), ...]). The figures are facts taken
from the papers; they are texts so that it is known how many decimals were printed.
"""

from __future__ import annotations

from typing import NamedTuple


class Printed(NamedTuple):
    where: str
    rate: float
    noise: float
    steps: int
    delta: float
    epsilon: str


Group = tuple[str, float, int, float, list[tuple[float, int, str]]]

# Xie et al., "Certified robustness for free in differentially private federated learning": user level.
_USER_LEVEL: list[Group] = [
    (
        "MNIST, table 2",
        20 / 200,
        1,
        0.0029,
        [
            (3.0, 3, "0.2808"),
            (2.3, 3, "0.4187"),
            (1.8, 3, "0.6298"),
            (1.5, 3, "0.8694"),
            (1.0, 3, "1.8504"),
            (0.8, 3, "2.8305"),
            (0.6, 3, "4.8913"),
            (0.5, 3, "6.9269"),
        ],
    ),
    (
        "CIFAR-10, table 3",
        40 / 200,
        1,
        0.0029,
        [
            (10.0, 1, "0.1083"),
            (8.0, 1, "0.1179"),
            (6.0, 1, "0.1451"),
            (4.0, 1, "0.2444"),
            (3.0, 1, "0.3663"),
            (2.6, 1, "0.4527"),
            (2.3, 1, "0.5460"),
            (1.7, 1, "0.8781"),
        ],
    ),
    ("MNIST, figure 2", 20 / 200, 1, 0.0029, [(2.5, 3, "0.3672"), (2.5, 4, "0.4025"), (2.5, 5, "0.4344")]),
    ("CIFAR-10, figure 2", 40 / 200, 1, 0.0029, [(3.0, 3, "0.5346"), (3.0, 4, "0.5978")]),
    (
        "MNIST, figures 3 and 5",
        20 / 200,
        1,
        0.0029,
        [(1.3, 5, "1.2716"), (1.6, 5, "0.8794"), (1.9, 5, "0.6608"), (2.2, 5, "0.5249"), (2.5, 5, "0.4344")],
    ),
    (
        "CIFAR-10, figures 3 and 5",
        40 / 200,
        1,
        0.0029,
        [
            (1.5, 4, "1.600"),
            (1.8, 4, "1.2127"),
            (2.0, 4, "1.0395"),
            (2.3, 4, "0.8530"),
            (2.5, 4, "0.7616"),
            (2.8, 4, "0.6543"),
            (3.0, 4, "0.5978"),
        ],
    ),
    (
        "Sent140, figure 13",
        10 / 805,
        1,
        1e-6,
        [(4.0, 3, "0.2238"), (3.0, 3, "0.2247"), (2.0, 3, "0.4102"), (1.5, 3, "0.7382"), (1.0, 3, "1.7151")],
    ),
    # The paper does not say how many rounds; these are the ones that give its ε.
    ("MNIST, figure 14", 20 / 200, 1, 0.0029, [(2.3, 10, "0.6319")]),
    ("CIFAR-10, figure 15", 40 / 200, 1, 0.0029, [(3.0, 3, "0.5346")]),
]

# The same paper, instance level. Table 1 has 25 local steps for MNIST; its ε are those of 26, the number of
# batches of 50 that 1266 examples make.
_INSTANCE_LEVEL: list[Group] = [
    (
        "MNIST, table 4",
        50 / 1266,
        26,
        1e-5,
        [
            (15.0, 3, "0.2029"),
            (10.0, 3, "0.2251"),
            (8.0, 3, "0.2484"),
            (5.0, 3, "0.3593"),
            (4.0, 3, "0.4589"),
            (3.0, 3, "0.6373"),
            (2.0, 3, "1.0587"),
            (1.0, 3, "3.5691"),
        ],
    ),
    (
        "CIFAR-10, table 5 and figure 4",
        0.05,
        100,
        1e-5,
        [
            (8.0, 1, "0.3158"),
            (7.0, 1, "0.3587"),
            (6.0, 1, "0.4221"),
            (5.0, 1, "0.5130"),
            (4.0, 1, "0.6546"),
            (3.0, 1, "0.9067"),
            (2.0, 1, "1.4949"),
            (1.0, 1, "4.6978"),
        ],
    ),
    ("MNIST, figure 8 (a, b)", 50 / 1266, 26, 1e-5, [(10.0, 4, "0.2383"), (10.0, 9, "0.304")]),
    (
        "MNIST, figure 8 (c, d)",
        50 / 1266,
        26,
        1e-5,
        [
            (5.0, 6, "0.5016"),
            (8.0, 6, "0.311"),
            (10.0, 6, "0.2646"),
            (13.0, 6, "0.2318"),
            (15.0, 6, "0.2202"),
            (18.0, 6, "0.2096"),
            (20.0, 6, "0.205"),
        ],
    ),
    (
        "CIFAR-10, figure 4 (c, d)",
        0.05,
        100,
        1e-5,
        [
            (3.0, 2, "1.261"),
            (4.0, 2, "0.9146"),
            (5.0, 2, "0.7187"),
            (6.0, 2, "0.5923"),
            (7.0, 2, "0.5038"),
            (8.0, 2, "0.4385"),
        ],
    ),
    (
        "MNIST, figure 5 (c)",
        50 / 1266,
        26,
        1e-5,
        [
            (5.0, 10, "0.6439"),
            (8.0, 10, "0.3937"),
            (10.0, 10, "0.3172"),
            (13.0, 10, "0.2626"),
            (20.0, 10, "0.2179"),
        ],
    ),
    (
        "CIFAR-10, figure 5 (d)",
        0.05,
        100,
        1e-5,
        [
            (3.0, 3, "1.5365"),
            (4.0, 3, "1.1162"),
            (5.0, 3, "0.8777"),
            (6.0, 3, "0.7238"),
            (7.0, 3, "0.6159"),
            (8.0, 3, "0.5361"),
        ],
    ),
    # Noise σ√m, m = 20. InsDP-FedSGD claims amplification by users and by batches, Dopamine by batches.
    ("InsDP-FedSGD, figure 12", 0.4 * 20 / 30, 1, 1e-5, [(3.0 * 20**0.5, 200, "1.4029")]),
    ("Dopamine, figure 12", 0.4, 1, 1e-5, [(3.0 * 20**0.5, 200, "2.1303")]),
]

# Miao et al., "Differential private defense against backdoor attacks in federated learning".
_CLIP_NORM_DECAY: list[Group] = [
    (
        "CND, figure 7",
        20 / 100,
        1,
        1e-5,
        [(4.5, 300, "4.13"), (4.0, 300, "4.72"), (3.5, 300, "5.50"), (3.1, 300, "6.35"), (2.8, 300, "7.17")],
    ),
    # The threshold is looked at in rounds 0 to 9, 50, 100, 150, 200 and 250.
    ("CND, the looks at the norms", 20 / 100, 1, 1e-5, [(3.5, 15, "1.27")]),
]


def _rows(groups: list[Group]) -> list[Printed]:
    return [
        Printed(where, rate, noise, steps * rounds, delta, epsilon)
        for where, rate, steps, delta, figures in groups
        for noise, rounds, epsilon in figures
    ]


XIE = _rows(_USER_LEVEL + _INSTANCE_LEVEL)
MIAO = _rows(_CLIP_NORM_DECAY)
