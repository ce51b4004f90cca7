"""Runs of every kind, in their smallest form, to be damaged and forged: made by the commands of users."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

from fuzzing.fuzzed_commands import run

TEXT = """
seed = 1
rounds = 3
data = { name = "synthetic", users = 12, examples = 6, features = 4, classes = 3, test_examples = 20 }
model = { name = "logistic_regression" }
privacy = { users = 12, delta = 0.01, accountant = "rdp" }
[algorithm]
preset = "user_dp_fedavg"
clip_bound = 1.0
noise_multiplier = 2.0
sampler = { name = "poisson", rate = 0.5 }
local = { name = "sgd", learning_rate = 0.5, batch_size = 10, epochs = 2 }
"""
ATTACKED = (
    TEXT
    + """
[attack]
who = { name = "random", count = 2 }
data = [{ name = "label_flip", target = 0 }]
"""
)
PROTECTED = """
seed = 1
rounds = 2
data = { name = "synthetic", users = 12, examples = 6, features = 4, classes = 3, test_examples = 20 }
model = { name = "logistic_regression" }
privacy = { users = 12, delta = 0.01, accountant = "rdp" }
[algorithm]
preset = "insdp_fedavg"
sampler = { name = "poisson", rate = 0.5 }
[algorithm.local]
name = "dp_sgd"
learning_rate = 0.1
steps = 2
noise_multiplier = 2.0
clip_bound = 1.0
expected_batch = 2.0
probability = 0.3
"""
SWEEP = TEXT + '[sweep]\n"algorithm.noise_multiplier" = [1.0, 3.0]\n'

COMMANDS = {
    "run": "run plain.toml --out {out}",
    "attacked": "run attacked.toml --out {out}",
    "protected": "run protected.toml --out {out}",
    "certified": "certify plain.toml -m 40 --score confidence --out {out}",
    "voted": "certify plain.toml -m 40 --score vote --out {out}",
    "replicas": "replicas plain.toml -m 6 --out {out}",
    "part": "replicas plain.toml -m 6 --range 2:4 --out {out}",
    "swept": "sweep sweep.toml --out {out}",
    "membership": "infer membership plain.toml --set data.users=20 --unit user --shadows 4 --out {out}",
    "audited": "audit plain.toml --mode one-run --canaries 10 --out {out}",
}
"""What is made, by its name."""


def make_runs(folder: Path, *, seed: int = 1, only: tuple[str, ...] = tuple(COMMANDS)) -> None:
    """Makes each in a directory of its name; another seed makes others of the same kind."""
    texts = {"plain": TEXT, "attacked": ATTACKED, "protected": PROTECTED, "sweep": SWEEP}
    for name, text in texts.items():
        (folder / f"{name}.toml").write_text(text.replace("seed = 1", f"seed = {seed}"), encoding="utf8")
    for name in only:
        words = COMMANDS[name].format(out=name).split()
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            code = run(words, folder)
        if code:
            raise RuntimeError(f"fedward {' '.join(words)} failed:\n{printed.getvalue()}")
