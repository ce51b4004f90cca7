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


def _participation() -> str:
    found = records("participation/results.jsonl")
    at_1 = [
        interval(r["accuracy"] for r in found[f"writers, {way}, ε = 1, 16 rounds"])
        for way in ("Poisson", "dp_ftrl", "random allocation")
    ]
    sure = {(c["way"], c["attendance"]): c for c in content("participation/certified.json") if c["sure"]}
    schema, chosen = sure["dp_ftrl", "drawn"]["accuracy"], sure["Poisson", "every-round"]["accuracy"]
    by_schema, by_coin = f"{100 * schema[1]:.1f} %", f"{100 * sum(chosen[1:2]):.0f} %"
    return (
        f"539 writers at ε = 1: {at_1[0]}, {at_1[1]} and {at_1[2]} %; against one attacker that comes when "
        f"it likes {by_schema} are certified with `dp_ftrl`, {by_coin} with Poisson sampling, M = "
        f"{sure['dp_ftrl', 'drawn']['replicas']}"
    )


def _arena(file: str, named: tuple[str, ...]) -> str:
    """How large an arena was, and the worst backdoor for some of its defences."""
    found = content(file)
    trained = sum(bool(each["runs"]) for each in found["cells"])
    seeds = len(found["about"]["seeds"])
    worst = {each["defence"]: each["worst_success"] for each in found["standings"] if each["worst_success"]}
    told = ", ".join(f"{name} {100 * worst[name]['value']:.1f} %" for name in named if name in worst)
    return f"{trained} cells, {seeds} seed{'s' * (seeds > 1)}; success of the worst backdoor: {told}"


def _compared() -> str:
    """Ours beside the one that certifies more."""
    found = {
        (r["inputs"], r["name"]): r["curves"]["inject"]
        for r in content("certificates_compared/compared.json")
    }
    pixels, featured = "pixels, 539 writers", "public features, 479 writers"
    theirs, ours = found[pixels, "FLCert, 100 groups"], found[pixels, "ours"]
    more, here = found[featured, "FLCert, 200 groups"], found[featured, "ours"]
    return (
        f"against 10 that join {100 * theirs[10]:.1f} % by 100 groups, {100 * ours[10]:.1f} % by ours; with "
        f"features, against 75, {100 * more[75]:.1f} % by 200 groups, {100 * here[75]:.1f} % by ours; groups "
        "need no noise and give no privacy"
    )


def own() -> list[str]:
    """What no paper has."""
    writers = content("certified_writers/certified.json")["noise_multiplier=5"]
    (join,) = (c for c in writers["curves"] if c["mode"] == "inject" and c["with_confidence"])
    featured, baseline = (
        content("public_features/certified.json")["all"],
        content("public_features/baseline.json"),
    )
    (public,) = (c for c in featured["curves"] if c["mode"] == "inject" and c["with_confidence"])
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
            "[public_features](../experiments/public_features/README.md)",
            "the same with features made from 60 public writers, without labels",
            f"{100 * public['certified_accuracy'][25]:.1f} % are certified against 25 that join, ε = "
            f"{featured['epsilon']:.3f}, M = {featured['replicas']:,}; ten public labels reach "
            f"{100 * baseline['ten labels, one for each group']:.1f} % without private data",
        ),
        (
            "[certificates_compared](../experiments/certificates_compared/README.md)",
            "certified accuracy against k by FLCert, CRFL, Xie et al. and ours",
            _compared(),
        ),
        (
            "[participation](../experiments/participation/README.md)",
            "Poisson sampling, `dp_ftrl` and random allocation at the same ε, and who may come when",
            _participation(),
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
        (
            "[arena_on_mnist](../experiments/arena_on_mnist/README.md)",
            "attacks and defences of today, all against all, DP among them",
            _arena(
                "arena_on_mnist/users_of_600.json",
                ("no defence", "krum", "median", "flame", "norm_bounding", "dp_8", "cnd_8"),
            ),
        ),
        (
            "[arena_on_cifar](../experiments/arena_on_cifar/README.md)",
            "some of them on CIFAR-10",
            _arena(
                "arena_on_cifar/users_of_500.json",
                ("no defence", "krum", "trimmed_mean", "flame", "norm_bounding", "dp_8", "cnd_8"),
            ),
        ),
    ]
    return markdown(("where", "what", "outcome"), rows)
