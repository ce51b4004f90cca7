"""Naseri et al., the study of clip sizes, what was not tried, and what no paper has."""

from __future__ import annotations

from results_sections.item import Item, content, records

from support import interval, markdown

WORDS = (
    ("none", 0),
    ("none", 50),
    ("none", 150),
    ("norm bounding", 150),
    ("weak DP", 150),
    ("user DP, z = 1", 150),
    ("user DP, z = 3", 150),
)
BOUNDS = {
    "clip 0.01": "constant 0.01",
    "clip 0.05": "constant 0.05",
    "poly(0.05) 0.5": "polynomial from 0.05, power 0.5",
    "poly(0.05) 1": "polynomial from 0.05, power 1",
    "poly(0.05) 2": "polynomial from 0.05, power 2",
    "quantile(0.01) 10 %": "quantile 10 % from 0.01",
    "quantile(0.01) 50 %": "quantile 50 % from 0.01",
    "adaptive 0.01": "histogram median from 0.01",
    "adaptive 0.05": "histogram median from 0.05",
}


def naseri() -> list[Item]:
    found = records("word_backdoor/results.jsonl")
    rows = []
    for defence, attackers in WORDS:
        each = found[f"{defence}, {attackers} attack, 8 rounds"]
        values = (interval(r[key] for r in each) for key in ("accuracy", "attack_success"))
        rows.append((defence, f"{attackers} of 500", *values, str(len(each))))
    return [
        Item(
            name="Word prediction",
            about="sentences about London",
            size="500 bloggers, 8 rounds, 3 seeds",
            verdict="the attack works; clipping slows it down, noise adds nothing to that",
            folder="word_backdoor",
            lines=markdown(("defence", "attackers", "word accuracy, %", "success, %", "seeds"), rows),
        ),
        Item(
            name="EMNIST, CIFAR-10, Sentiment140",
            about="backdoors under CDP and LDP",
            size="what we have of the paper names these data sets, and no setting and no number",
            verdict="not tried as such; the algorithms run in the tables of Miao et al. and on digits",
        ),
    ]


def clip_sizes() -> list[Item]:
    found = records("ldp_fedsgd_on_mnist/results.jsonl")
    rows = []
    for name, bound in BOUNDS.items():
        each = found[name]
        ends = (f"{sum(r[key][-1] for r in each) / len(each):.3g}" for key in ("loss", "bound"))
        rows.append((bound, interval(r["accuracy"][-1] for r in each), *ends, str(len(each))))
    return [
        Item(
            name="Experiments 2 and 3",
            about="clip bounds of LDP-FedSGD",
            size="MNIST, logistic regression, 1,000 users, 300 rounds, 3 seeds",
            verdict="both findings are reproduced: shrinking late helps, quantile clipping is unstable",
            folder="ldp_fedsgd_on_mnist",
            lines=[
                "The scan has the schedules and two findings, no table that can be read.",
                "",
                *markdown(("clip bound", "accuracy, %", "loss", "last bound", "seeds"), rows),
            ],
        )
    ]


def not_tried() -> list[Item]:
    """What nobody did here, and what it would take."""
    no = "not tried"
    return [
        Item(
            name="Xie et al., figures 2, 3, 5 on CIFAR-10, figure 4",
            about="attack cost, CIFAR-10",
            verdict=no,
            size="M = 100: about 20 CPU hours for users, 100 for examples",
        ),
        Item(
            name="Xie et al., figures 9, 10, 11",
            about="ten classes",
            verdict=no,
            size="the paper does not print rounds, noise or ε of these",
        ),
        Item(
            name="Xie et al., table 1, figure 6; Miao et al., figure 1",
            about="parameters, and pictures of triggers",
            verdict=no,
            size="no results",
        ),
        Item(
            name="Miao et al., figure 3",
            about="norms of the first batch, red cars",
            verdict=no,
            size="norms of whole updates were measured instead, on digits: [measured](attacks/measured.md)",
        ),
        Item(
            name="Miao et al., figure 5 on CIFAR-10, figure 8",
            about="local epochs, and five defences, against red cars",
            verdict=no,
            size="ResNet-18 at 77 pictures a second: 22 CPU hours for each training of 300 rounds, some "
            "1,300 for figure 8; that is for a GPU",
        ),
        Item(
            name="Miao et al., EMNIST",
            about="240,000 digits in the place of MNIST's 60,000",
            verdict=no,
            size="the files are not here; `emnist_cnn` at 770 digits a second: 26 CPU hours a training",
        ),
    ]


def own() -> list[str]:
    """What no paper has."""
    writers = content("certified_writers/certified.json")["noise_multiplier=5"]
    (join,) = (c for c in writers["curves"] if c["mode"] == "inject" and c["with_confidence"])
    members = records("membership/results.jsonl")
    areas = [
        f"{sum(r['attacks']['likelihood ratio']['auc'] for r in members[name]) / len(members[name]):.2f}"
        for name in ("user, None", "user, 8.0")
    ]
    crossings = sum(bool(r["crossed"]) for each in members.values() for r in each)
    clips = records("clipping_on_mnist/results.jsonl")
    best = max(clips, key=lambda name: clips[name][0]["accuracy"][-1])
    rows = [
        (
            "[certified_writers](../experiments/certified_writers/README.md)",
            "how many of the 539 writers of MNIST may be attackers",
            f"{100 * join['certified_accuracy'][10]:.1f} % of 10,000 digits are certified against 10 that "
            f"join, ε = {writers['epsilon']:.2f}, M = {writers['replicas']:,}",
        ),
        (
            "[membership](../experiments/membership/README.md)",
            "membership inference against ε",
            f"AUC {areas[0]} without noise, {areas[1]} at z = 8; {crossings} of "
            f"{sum(map(len, members.values()))} sets of trainings cross the limit of DP",
        ),
        (
            "[clipping_on_mnist](../experiments/clipping_on_mnist/README.md)",
            "every way to clip under the same ε = 8",
            f"{best} is best, {100 * clips[best][0]['accuracy'][-1]:.1f} %, one seed",
        ),
    ]
    return markdown(("where", "what", "outcome"), rows)
