"""What the papers' trainings spend, computed."""

from __future__ import annotations

from results_sections.item import Item, records

import fedward
from fedward.local import DPSGD
from fedward.presets.local_privacy import papers_claim
from support import interval, markdown

SENT140 = {1.0: 1.7151, 1.5: 0.7382, 2.0: 0.4102, 3.0: 0.2247, 4.0: 0.2238}
SPENT = {4.5: 4.13, 4.0: 4.72, 3.5: 5.50, 3.1: 6.35, 2.8: 7.17}


def figure_12() -> Item:
    local = DPSGD(
        learning_rate=0.1,
        probability=0.4,
        expected_batch=100,
        steps=1,
        noise_multiplier=3.0,
        clip_bound=1.5,
    )
    algorithm = fedward.presets.insdp_fedsgd(
        num_users=30, sampler=fedward.FixedSizeSampler(size=20), local=local
    )
    claim = papers_claim(algorithm, 30, 200, 1e-5)
    assert claim is not None
    bound = algorithm.guarantee(30, 200, 1e-5, "moments")
    rows = [
        ("InsDP-FedSGD, the paper's claim", "1.4029", f"{claim.epsilon:.4f}"),
        ("Dopamine's bound, the one with a proof", "2.1303", f"{bound.epsilon:.4f}"),
    ]
    return Item(
        name="Figure 12",
        about="ε of InsDP-FedSGD and of Dopamine after 200 rounds",
        size="computed",
        verdict="reproduced to four decimals; the smaller one is a claim without a proof",
        lines=[
            *markdown(("", "ε, paper", "ε, here"), rows),
            "",
            "See [users that protect themselves](local-privacy.md).",
        ],
    )


def sent140() -> Item:
    found = records("xie_sent140/results.jsonl")
    rows = []
    for noise, printed in SENT140.items():
        algorithm = fedward.presets.user_dp_fedavg(
            num_users=805,
            sampler=fedward.PoissonSampler(rate=10 / 805),
            local=fedward.SGD(learning_rate=0.3, batch_size=10, epochs=3),
            clip_bound=0.5,
            noise_multiplier=noise,
        )
        epsilon = algorithm.guarantee(805, 3, 1e-6, "moments").epsilon
        accuracy = interval(r["accuracy"][-1] for r in found[f"paper's setting, σ = {noise:g}"])
        rows.append((f"{noise:g}", f"{printed:.4f}", f"{epsilon:.4f}", accuracy))
    return Item(
        name="Figure 13",
        about="Sent140: ε and accuracy",
        size="3 seeds, a third of the tweets; full size M = 1,000: 8 CPU hours",
        verdict="ε is reproduced; nothing is learnt in that setting, so nothing was certified",
        folder="xie_sent140",
        lines=[
            "The paper prints ε and a picture of certified accuracy, no accuracy. Calling every tweet "
            "positive is right for 62 % of ours.",
            "",
            *markdown(("σ", "ε, paper", "ε, here", "accuracy here, %, 3 seeds"), rows),
        ],
    )


def central_dp() -> Item:
    rows = []
    for noise, printed in SPENT.items():
        algorithm = fedward.presets.central_dp(
            num_users=100,
            sampler=fedward.PoissonSampler(rate=0.2),
            local=fedward.SGD(learning_rate=0.04, batch_size=20, epochs=2),
            clip_bound=0.05,
            noise_multiplier=noise,
        )
        by = {mode: algorithm.guarantee(100, 300, 1e-5, mode).epsilon for mode in ("moments", "rdp")}
        rows.append((f"{noise:g}", f"{printed:.2f}", f"{by['moments']:.2f}", f"{by['rdp']:.2f}"))
    return Item(
        name="ε of figures 7 to 9",
        about="what CDP spends in 300 rounds",
        size="computed",
        verdict="reproduced, with noise multipliers that the paper does not print",
        lines=markdown(("z", "ε, paper", "ε, `moments`", "ε, `rdp`"), rows),
    )
