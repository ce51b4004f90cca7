"""The certificate of the flagship beside what attackers who join really achieve.

    python experiments/public_features/attacks.py --data DIR [--replicas 500] [--small]

k users join the 479 and send what the attack says; the server clips it and goes on as always. Measured
on the test digits: the accuracy of the class that most of the noisy models vote for, which is what the
certificate is about, and that of one model. Attackers know all but the noise: data, features, test digits.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedward.backends import InProcess
from fedward.config import experiment
from fedward.core.federation import Federation
from fedward.core.receive import receive
from fedward.core.round import finish_round, plan_round
from fedward.core.train import reserve
from fedward.core.types import Row
from fedward.studies.training.setup import prepare

sys.path.append(str(Path(__file__).parents[1]))  # for what the experiments share, beside their folders
import draw_attacks

from published import place_of
from support import parser

HERE = Path(__file__).parent
Record = dict[str, Any]
Sums = dict[str, Tensor]
ATTACKERS = (0, 5, 10, 12, 25, 50, 75, 100)
STEPS = 100
ALONE = "each digit for itself"
ALONE_NOISY, ALONE_TAKEN_OVER = f"{ALONE}, noisy vote", f"{ALONE}, noisy vote, taken over"


class World:
    """The federation, what its users send, and the scores that follow from it."""

    def __init__(self, data: str | None) -> None:
        self.setup = prepare(experiment.read(HERE / "writers.toml"), None if data is None else Path(data))
        federation = self.setup.federation
        assert federation.test is not None
        self.users = federation.num_users
        algorithm, model = self.setup.algorithm, self.setup.model
        self.backend = InProcess(model, federation)
        state = algorithm.init(self.setup.parameters, 0, self.users)
        plan = plan_round(algorithm, state, federation.roster, None, self.setup.experiment.seed)
        self.honest = [row.update for row in self.backend.train(plan.jobs)]
        self.x, self.y = federation.test.x, federation.test.y
        assert isinstance(self.x, Tensor)
        self.classes = federation.num_classes
        self.sum = torch.stack(self.honest).sum(dim=0)
        self.noise = float(algorithm.mechanism.multiplier)

    def head(self, flat: Tensor) -> Tensor:
        return flat.reshape(self.classes, -1)

    def trained(self, rows: list[Tensor], replicas: int) -> tuple[float, float]:
        """The accuracy of the vote of so many models, and the mean accuracy of one, with these rows added."""
        federation, algorithm = joined(self.setup.federation, len(rows)), self.setup.algorithm
        seed, k = self.setup.experiment.seed, len(rows)
        state = algorithm.init(self.setup.parameters, 0, federation.num_users)
        plan = plan_round(algorithm, state, federation.roster, None, seed)
        sent = [Row(user, update) for user, update in enumerate([*self.honest, *rows])]
        received = receive(algorithm, state, plan, sent, seed)
        assert len(received.norms) == self.users + k
        x, y = self.x, self.y.numpy()
        votes, right = np.zeros((len(y), self.classes), dtype=np.int64), []
        for replica in range(replicas):
            mine = reserve(algorithm, replace(state, replica=replica), plan)
            after, _ = finish_round(algorithm, mine, plan, received, seed)
            found = (x @ self.head(after.parameters).T).argmax(dim=1).numpy()
            votes[np.arange(len(y)), found] += 1
            right.append(float((found == y).mean()))
        return float((votes.argmax(axis=1) == y).mean()), float(np.mean(right))


def joined(federation: Federation, attackers: int) -> Federation:
    """The federation with so many users more; what they hold does not matter: they send what they like."""
    if not attackers:
        return federation
    x, y = federation.examples.x, federation.examples.y
    assert isinstance(x, Tensor)
    names = np.array(
        [f"writer {name}" for name in federation.names] + [f"zz attacker {i}" for i in range(attackers)]
    )
    owners = np.concatenate(
        [np.repeat(names[: federation.num_users], federation.sizes.numpy()), names[-attackers:]]
    )
    return Federation.from_arrays(
        torch.cat([x, x[:attackers]]),
        torch.cat([y, y[:attackers]]),
        owners,
        names=names,
        test=federation.test,
        num_classes=federation.num_classes,
    )


def unit(vector: Tensor) -> Tensor:
    return vector / vector.norm().clamp_min(1e-12)


def opposed(world: World, k: int) -> list[Tensor]:
    """Inner product manipulation: the honest mean with the opposite sign, at the clip bound."""
    return [-unit(world.sum)] * k


def little(world: World, k: int) -> list[Tensor]:
    """A little is enough: the honest mean less as many deviations as make it as long as the bound allows."""
    rows = torch.stack(world.honest)
    return [unit(rows.mean(dim=0) - 10.0 * rows.std(dim=0))] * k


def flipped(world: World, k: int) -> list[Tensor]:
    """Label flips: class means of the honest users, each under the label of the next class."""
    return [unit(world.head(each).roll(1, dims=0).reshape(-1)) for each in world.honest[:k]]


def pair(world: World, k: int) -> list[Tensor]:
    """All attackers push one class into its nearest neighbour: the pair whose loss costs most digits."""
    scores, best, found = world.x @ world.head(world.sum).T, 1.0, None
    for a in range(world.classes):
        mean = unit(world.x[world.y == a].mean(dim=0))
        for b in range(world.classes):
            if a == b:
                continue
            push = torch.zeros(world.classes, world.x.shape[1])
            push[a], push[b] = -mean, mean
            push = unit(push.reshape(-1))
            moved = scores + k * world.x @ world.head(push).T
            right = float((moved.argmax(dim=1) == world.y).float().mean())
            if right < best:
                best, found = right, push
    return [found if found is not None else -unit(world.sum)] * k


def strongest(world: World, k: int) -> list[Tensor]:
    """The one direction that costs most digits, by gradient descent: it knows the test set."""
    scores, own = (
        world.x @ world.head(world.sum).T,
        torch.nn.functional.one_hot(world.y, world.classes).bool(),
    )
    best, found = 1.0, -unit(world.sum)
    starts = [-unit(world.sum), pair(world, k)[0] if k else -unit(world.sum), flipped(world, 1)[0]]
    for width in (0.25, 1.0):
        for start in starts:
            direction = start.clone().requires_grad_(True)
            optimiser = torch.optim.Adam([direction], lr=0.05)
            for _ in range(STEPS):
                moved = scores + k * world.x @ world.head(unit(direction)).T
                margin = moved[own] - moved.masked_fill(own, -torch.inf).amax(dim=1)
                loss = torch.sigmoid(margin / (width * world.noise)).mean()
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                right = float((margin > 0).float().mean())
                if right < best:
                    best, found = right, unit(direction.detach())
    return [found.clone() for _ in range(k)]


ATTACKS: dict[str, Callable[[World, int], list[Tensor]]] = {
    "inner product": opposed,
    "a little is enough": little,
    "label flips": flipped,
    "one class into another": pair,
    "strongest found": strongest,
}


def each_digit_for_itself(world: World, k: int) -> float:
    """The share of digits that k attackers cannot turn even if they attack only this digit, without noise.

    Against x of class A and any B the best k rows are x (e_B - e_A) / √2: they move these scores by √2 k.
    """
    scores = (world.x @ world.head(world.sum).T).double()
    own = torch.nn.functional.one_hot(world.y, world.classes).bool()
    margin = scores[own] - scores.masked_fill(own, -torch.inf).amax(dim=1)
    return float((margin > k * np.sqrt(2)).float().mean())


def each_digit_under_noise(world: World, k: int, replicas: int, taken_over: bool = False) -> float:
    """The share of digits that stay right by the vote of noisy models, each attacked for itself.

    The worst case of the proof: against x of class A and a target B all k send x (e_B - e_A) / √2, which is
    the direction in which the noise hides them least. The attacker takes the B with which the vote falls.
    What k rows add to the mean is k row / N exactly, so one set of noisy models serves all digits. Those who
    are taken over are the k whose own rows did most for A against B.
    """
    setup, x, y = world.setup, world.x, world.y.numpy()
    algorithm, seed, federation = setup.algorithm, setup.experiment.seed, setup.federation
    state = algorithm.init(setup.parameters, 0, federation.num_users)
    plan = plan_round(algorithm, state, federation.roster, None, seed)
    sent = [Row(user, update) for user, update in enumerate(world.honest)]
    received = receive(algorithm, state, plan, sent, seed)
    n, classes, divisor = len(y), world.classes, setup.algorithm.aggregator.divisor
    assert divisor is not None
    rows, own = np.arange(n), x.square().sum(dim=1).numpy() * k / (np.sqrt(2) * divisor)
    # What the rows of those who are taken over had added: digit, target, class.
    lost = np.zeros((n, classes, classes), dtype=np.float32)
    if taken_over and k:
        heads = torch.stack([world.head(each) for each in world.honest])
        for a in range(classes):
            of_a = np.flatnonzero(y == a)
            added = torch.einsum("ucd,nd->nuc", heads, x[of_a])
            for b in range(classes):
                most = (added[..., a] - added[..., b]).topk(k, dim=1).indices
                chosen = added.gather(1, most.unsqueeze(2).expand(-1, -1, classes))
                lost[of_a, b] = chosen.sum(dim=1).numpy() / divisor
    votes = np.zeros((n, classes, classes), dtype=np.int32)  # digit, target, class that is voted for
    for replica in range(replicas):
        mine = reserve(algorithm, replace(state, replica=replica), plan)
        after, _ = finish_round(algorithm, mine, plan, received, seed)
        scores = (x @ world.head(after.parameters).T).numpy()
        for target in range(classes):
            moved = scores - lost[:, target]
            moved[rows, y] -= own
            moved[:, target] += own
            votes[rows, target, moved.argmax(axis=1)] += 1
    right = votes.argmax(axis=2) == y[:, None]
    right[rows, y] = True  # nobody pushes a digit to its own class
    return float(right.all(axis=1).mean())


def measurements(
    world: World, replicas: int, small: bool
) -> Iterator[tuple[str, int, Callable[[], dict[str, float]]]]:
    """All that is measured: the name of the attack, how many attack, and what does it."""

    def single(attack: Callable[[World, int], list[Tensor]], k: int) -> dict[str, float]:
        vote, one = world.trained(attack(world, k), replicas)
        return {"vote": round(vote, 4), "one model": round(one, 4)}

    for k in (0, 10, 25) if small else ATTACKERS:
        for name, attack in ATTACKS.items() if k else [("no attack", lambda world, k: [])]:
            yield name, k, partial(single, attack, k)
        yield ALONE, k, lambda k=k: {"vote": round(each_digit_for_itself(world, k), 4)}
        for name, taken_over in ((ALONE_NOISY, False), (ALONE_TAKEN_OVER, True)):
            if k <= 50 or not taken_over:  # above 48 nothing is certified against those
                yield (
                    name,
                    k,
                    lambda k=k, those=taken_over: {
                        "vote": round(each_digit_under_noise(world, k, replicas, those), 4)
                    },
                )


def main() -> None:
    made = parser(__doc__ or "")
    made.add_argument("--replicas", type=int, default=500, help="models that vote")
    made.add_argument("--small", action="store_true", help="10 and 25 attackers, a tenth of the models")
    chosen = made.parse_args()
    place = place_of(chosen, HERE)
    torch.set_num_threads(1)  # two collapse where another program wants a core
    world, replicas = World(chosen.data), chosen.replicas // 10 if chosen.small else chosen.replicas
    file = place.file("attacks.json")
    records: list[Record] = json.loads(file.read_text()) if file.exists() else []
    done = {(each["attack"], each["k"], each["replicas"]) for each in records}
    for name, k, measure in measurements(world, replicas, chosen.small):
        if (name, k, replicas) in done:
            continue
        records.append({"attack": name, "k": k, **measure(), "replicas": replicas})
        print(records[-1], flush=True)
        records.sort(key=lambda each: each["k"])
        file.write_text(json.dumps(records, indent=1) + "\n")
    draw_attacks.draw(records, HERE / "certificate.json.gz", place.file("certified_and_attacked.png"))
    place.publish("attacks.json", "certified_and_attacked.png")


if __name__ == "__main__":
    main()
