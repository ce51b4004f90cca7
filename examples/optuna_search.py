"""A search with Optuna for the clip bound and the learning rate of a private training.

It needs ``pip install 'fedward[optuna]'``. The noise multiplier and the rounds stay as they are, so every
trial has the same ε. That ε is about one training. Whoever takes the best of many has looked at all of them,
and only the ε of releasing all of them covers that. It holds because every trial has a seed, and so noise, of
its own.
"""

import optuna

import fedward

EXPERIMENT = "examples/user_dp_digits.toml"
TRIALS, ROUNDS = 8, 10


def accuracy(trial: optuna.Trial) -> float:
    """Of one private training. The test digits are public here; private ones would be looked at as well."""
    run = fedward.train(
        EXPERIMENT,
        changes={
            "rounds": ROUNDS,
            "seed": 1 + trial.number,
            "algorithm.clip_bound": trial.suggest_float("clip_bound", 0.1, 4.0, log=True),
            "algorithm.local.learning_rate": trial.suggest_float("learning_rate", 0.01, 0.3, log=True),
        },
        out=f"runs/search/{trial.number}",
        quiet=True,
    )
    return run.last.accuracy or 0.0


optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=1))
study.optimize(accuracy, n_trials=TRIALS)

print(f"best of {TRIALS}: {study.best_value:.1%} with", study.best_params)
one = fedward.epsilon(EXPERIMENT, changes={"rounds": ROUNDS})
# All trials together are one training of all their rounds: the same noise, rate and users throughout.
every = fedward.epsilon(EXPERIMENT, changes={"rounds": ROUNDS * TRIALS})
print(f"one training: ε = {one.epsilon:.2f}; the choice among {TRIALS}: ε = {every.epsilon:.2f}", end="")
print(f", at δ = {one.delta:g}")
