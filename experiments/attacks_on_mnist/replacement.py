"""Model replacement with and without clipping: figure 2 of Xie et al., on MNIST.

    python experiments/attacks_on_mnist/replacement.py --data DIR [--seeds 10]

Without clipping: FedAvg on ten digits, cohorts of 20 of 100 users; in one round one attacker (four for the
distributed backdoor) trains longer than the others and scales its update by 20 (by 5), so that it alone
decides the mean. With clipping: UserDP-FedAvg as in Xie et al. (digits 0 and 1, 200 users, S = 0.7, σ = 2.5,
5 rounds, but Poisson sampling), 20 attackers, γ = 1 or 50; FedAvg under the same attack is the control.
Finished trainings are kept in replacement.jsonl of --out, so it can be killed and started again; --publish
puts them beside this file, and the figure into docs/attacks.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from rich.console import Console
from rich.table import Table
from trainings import DOCS, HERE, Record, Training, carry_out, grouped, interval, seeds_and_rounds

import fedward
from fedward.attacks import Attack, PerCohort, RandomUsers
from fedward.attacks.attack_types import Poisoning
from fedward.attacks.model_poisoning import Scale, TrainAndScale
from fedward.attacks.poisoning import DistributedBackdoor, LabelFlip, PatternBackdoor
from fedward.attacks.poisoning.patterns import Triangle
from published import place_of

PATTERN = Triangle(size=6)
ATTACKERS = 20
LAST, ATTACKED = 30, 20
OWN = fedward.SGD(learning_rate=0.1, batch_size=40, epochs=20)


def attacks(fraction: float) -> dict[str, Poisoning]:
    """The three attacks; a share of clean examples keeps a replaced model useful."""
    return {
        "backdoor": PatternBackdoor(pattern=PATTERN, target=0, fraction=fraction),
        "distributed backdoor": DistributedBackdoor(pattern=PATTERN, target=0, fraction=fraction),
        "label flip": LabelFlip(source=1, target=0),
    }


def unclipped(seed: int, kind: str, factor: float) -> Training:
    """FedAvg on ten digits, attacked in a single round."""
    attackers = 4 if kind == "distributed backdoor" else 1
    return Training(
        name=f"unclipped, {kind}, γ = {'m/k' if factor > 1 else '1'}",
        seed=seed,
        rounds=LAST,
        algorithm=fedward.presets.fedavg(
            sampler=fedward.FixedSizeSampler(size=20),
            local=fedward.SGD(learning_rate=0.3, batch_size=40, epochs=1),
        ),
        attack=Attack(
            who=PerCohort(count=attackers, each=attackers),
            data=(attacks(0.5)[kind],),
            model=(TrainAndScale(local=OWN, factor=factor / attackers if factor > 1 else 1.0),),
            rounds=(ATTACKED - 1,),
        ),
        every=1,
    )


def setting_of_xie_et_al(
    seed: int, kind: str, factor: float, attackers: int = ATTACKERS, *, private: bool = True
) -> Training:
    """UserDP-FedAvg of Xie et al. with so many attackers; or, as a control, FedAvg under the same attack."""
    sampler = fedward.PoissonSampler(rate=0.1)
    local = fedward.SGD(learning_rate=0.02, batch_size=60, epochs=10, momentum=0.9, weight_decay=5e-4)
    algorithm = fedward.presets.fedavg(sampler=sampler, local=local)
    if private:
        algorithm = fedward.presets.user_dp_fedavg(
            num_users=200, sampler=sampler, local=local, clip_bound=0.7, noise_multiplier=2.5
        )
    return Training(
        name=f"{algorithm.name}, {kind}, γ = {factor:g}, k = {attackers}",
        seed=seed,
        rounds=5,
        algorithm=algorithm,
        attack=Attack(
            who=RandomUsers(count=attackers), data=(attacks(1.0)[kind],), model=(Scale(factor=factor),)
        ),
        model="mnist_cnn",
        classes=(0, 1),
        every=1,
    )


def trainings(seeds: int) -> list[Training]:
    tasks = []
    for seed in range(seeds):
        for kind in attacks(1.0):
            for private in (True, False):
                if private or seed < 5:
                    tasks += [
                        setting_of_xie_et_al(seed, kind, factor, private=private) for factor in (1.0, 50.0)
                    ]
            if kind != "distributed backdoor":
                tasks.append(setting_of_xie_et_al(seed, kind, 1.0, attackers=0))
            if seed < 5:
                tasks += [unclipped(seed, kind, factor) for factor in (1.0, 20.0)]
    return tasks


def show(records: list[Record], file: Path) -> None:
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    groups = grouped(records)
    table = Table("setting", "accuracy, %", "success, %", "attack cost J", "seeds")
    for name, found in sorted(groups.items()):
        at = ATTACKED - 1 if name.startswith("unclipped") else -1
        cost = np.mean([r["attack_cost"][at] for r in found])
        table.add_row(
            f"{name}, before" if at > 0 else name,
            *(
                interval(r[key][at - 1 if at > 0 else at] for r in found)
                for key in ("accuracy", "attack_success")
            ),
            f"{np.mean([r['attack_cost'][at - 1 if at > 0 else at] for r in found]):.3f}",
            str(len(found)),
        )
        if at > 0:
            table.add_row(
                f"{name}, after that one round",
                *(interval(r[key][at] for r in found) for key in ("accuracy", "attack_success")),
                f"{cost:.3f}",
                str(len(found)),
            )
    console = Console(width=120)
    console.print(table)
    console.print(_gain(groups))

    kinds = list(attacks(1.0))
    figure, axes = plt.subplots(2, 3, figsize=(12, 7), layout="constrained", sharey="row")
    for column, kind in enumerate(kinds):
        for label, style in (("m/k", "-"), ("1", "--")):
            found = groups.get(f"unclipped, {kind}, γ = {label}", [])
            if found:
                success = 100 * np.mean([r["attack_success"] for r in found], axis=0)
                accuracy = 100 * np.mean([r["accuracy"] for r in found], axis=0)
                axes[0, column].plot(found[0]["round"], success, f"C3{style}", label=f"success, γ = {label}")
                axes[0, column].plot(
                    found[0]["round"], accuracy, f"C0{style}", label=f"accuracy, γ = {label}"
                )
        axes[0, column].axvline(ATTACKED, color="grey", lw=0.8, ls=":")
        axes[0, column].set(title=f"{kind},\nno clipping, attack in round {ATTACKED}", xlabel="round")
        costs = {
            "nobody": f"user_dp_fedavg, {'backdoor' if column == 1 else kind}, γ = 1, k = 0",
            "γ = 1": f"user_dp_fedavg, {kind}, γ = 1, k = {ATTACKERS}",
            "γ = 50": f"user_dp_fedavg, {kind}, γ = 50, k = {ATTACKERS}",
        }
        drawn = {label: [r["attack_cost"][-1] for r in groups.get(name, [])] for label, name in costs.items()}
        drawn = {label: values for label, values in drawn.items() if values}
        axes[1, column].boxplot(list(drawn.values()), tick_labels=list(drawn))
        axes[1, column].set(title=f"{kind},\nUserDP-FedAvg, {ATTACKERS} of 200 attack", ylim=(0, None))
    axes[0, 0].set_ylabel("%")
    axes[1, 0].set_ylabel("attack cost of one model")
    axes[0, 0].legend(fontsize=8)
    figure.savefig(file, dpi=120)


def _gain(groups: dict[str, list[Record]]) -> Table:
    """What scaling by 50 gains over scaling by 1, seed by seed: nothing, if the intervals hold 0."""
    table = Table("UserDP-FedAvg, γ = 50 minus γ = 1", "success, points", "attack cost J", "seeds")
    for kind in attacks(1.0):
        pairs = []
        for factor in (1.0, 50.0):
            found = groups.get(f"user_dp_fedavg, {kind}, γ = {factor:g}, k = {ATTACKERS}", [])
            pairs.append({r["seed"]: (r["attack_success"][-1], r["attack_cost"][-1]) for r in found})
        both = sorted(pairs[0].keys() & pairs[1].keys())
        gains = np.array([[pairs[1][s][i] - pairs[0][s][i] for s in both] for i in (0, 1)])
        if len(both) > 1:
            table.add_row(kind, interval(gains[0]), interval(gains[1] / 100, digits=2), str(len(both)))
    return table


def main() -> None:
    options = seeds_and_rounds(__doc__, seeds=10, rounds=5)
    place = place_of(options, HERE)
    found = carry_out(trainings(options.seeds), place.records("replacement.jsonl"), options)
    show(found, place.file("model_replacement.png"))
    place.publish("replacement.jsonl", "model_replacement.png", pictures=DOCS)


if __name__ == "__main__":
    main()
