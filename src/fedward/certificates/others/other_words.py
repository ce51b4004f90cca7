"""The sentences of a certificate by another proof, and what it rests on; all made from its fields."""

from __future__ import annotations

from collections.abc import Iterator

from fedward.certificates.level import level
from fedward.certificates.others import DisjointGroups, ParameterSmoothing, RandomGroups
from fedward.certificates.others.certain import Certain
from fedward.certificates.others.other_setting import OtherSetting
from fedward.certificates.trusted_names import Trusted
from fedward.privacy.guarantee import Guarantee

_JOIN = "Inject: k malicious users are added to this federation."
_PRESENT = "Present: k of the users trained on may be malicious; the class is the same without them."
_TAKEN = "Compromise: k users are replaced by malicious ones{}."
_SEND = "Attackers may send anything in any round; nothing is assumed about clipping, noise or the rule."


def other_statements(
    setting: OtherSetting, *, score: str, classes: int, examples: int, draw: str, releasing_all: Guarantee
) -> list[str]:
    """A sentence or two for everything that somebody who signs it has to know."""
    by = setting.by
    if isinstance(by, DisjointGroups):
        lines = _disjoint(by, setting)
    elif isinstance(by, RandomGroups):
        lines = _random(by, setting)
    else:
        lines = _smoothed(by, setting, score, releasing_all)
    if not isinstance(setting.confidence, Certain):
        lines.append(_sure(setting, classes, examples, draw))
    public = setting.ledger.terms.public
    if public is not None:
        lines.append(
            f"Users train on {public}. Whoever poisoned public data has changed what this certificate is "
            "about, and is not among its k."
        )
    return lines


def other_trust(setting: OtherSetting) -> Iterator[tuple[Trusted, str]]:
    """What no check of the files can find out: names and sentences."""
    models = f"{setting.confidence.replicas:,}"
    yield (
        "trainings",
        f"that the votes come from {models} trainings of one experiment: nothing was trained again",
    )
    if isinstance(setting.by, ParameterSmoothing):
        step = setting.step
        clipped = f", models of length {step.reach:g} at most before noise of {step.noise:g}" if step else ""
        yield (
            "ledger",
            "that each of these trainings had the noise and the clipping of the stated ledger (noise "
            f"multiplier {setting.noise_multiplier:g}, {setting.rounds:,} rounds, {setting.users:,} "
            f"users{clipped})",
        )
        yield (
            "divisor",
            "that sums were divided by a number that does not move when somebody joins or leaves",
        )
        yield "independence", "that the replicas are independent, each with noise of its own in all rounds"
    elif isinstance(setting.by, RandomGroups):
        yield (
            "groups",
            f"that each model was trained on {setting.by.size} users drawn at random of {setting.users:,}, "
            "and on nothing else of theirs",
        )
        yield "independence", "that the groups were drawn independently of each other"
    else:
        yield (
            "groups",
            f"that each of {setting.users:,} users was in the group that its name decides, and reached no "
            "other one",
        )
    if not isinstance(setting.confidence, Certain):
        yield "fixed_beforehand", "that what is claimed was fixed before anybody saw a replica"
        yield (
            "choice",
            "that it was not chosen among several, with other seeds, other claims or other settings",
        )
    yield (
        "initial_model",
        f"that the trainings started from the model with the digest {setting.initial_model}: it was compared "
        "with nothing",
    )
    yield (
        "data",
        f"that they were on the data with the digest {setting.data}, and that votes and labels are of its "
        "test examples: it was compared with nothing",
    )
    if (public := setting.ledger.terms.public) is not None:
        yield (
            "public_data",
            f"that nothing but what is declared is in what is public ({public}), and that no attacker had a "
            "hand in it",
        )


def _disjoint(by: DisjointGroups, setting: OtherSetting) -> list[str]:
    return [
        f"This certificate is about the vote of {by.groups} models that were trained, each on the users of "
        f"one of {by.groups} disjoint groups: the class with most votes, the smaller one in a tie (FLCert-D; "
        "Cao et al. 2022).",
        "For each test example, and for all of them together: under every attack by at most k users the "
        "class with most votes is the one stated as top. This is certain; no confidence is involved.",
        *_threats(setting, ", who keep their names and with them their groups"),
        _SEND,
        "It assumes that a user's name decides its group, that nothing of a user reaches another group, and "
        "that the others keep their numbers, and with them their local seeds, when somebody joins or leaves. "
        f"All {by.groups} models must be kept and asked; one of them alone is certified against nobody.",
        "It gives no privacy: no ε is claimed for one model or for all of them.",
    ]


def _random(by: RandomGroups, setting: OtherSetting) -> list[str]:
    return [
        f"This certificate is about the expected vote of a model that is trained on {by.size} users drawn at "
        f"random of {setting.users:,} (FLCert-P; Cao et al. 2022).",
        *_threats(setting, ""),
        _SEND,
        "It assumes that the server draws the users of every group itself, without replacement, and that "
        "nothing of a user reaches another group. An attacker in a group is granted everything there.",
        "For one model of a random group, 'predicts' is a lower bound on the probability that it predicts "
        "this class.",
        "It gives no privacy: no ε is claimed for one model or for all of them.",
    ]


def _smoothed(
    by: ParameterSmoothing, setting: OtherSetting, score: str, releasing_all: Guarantee
) -> list[str]:
    step = setting.step
    others = step is not None and not all(by.acts(setting.rounds))
    contraction = f"; any other round leaves at most {step.contraction:.6g} of it" if step and others else ""
    return [
        f"This certificate is about the expected {score} of this mechanism with this initial model and these "
        "local seeds, over its noise: clipped and smoothed parameters, after CRFL (Xie et al. 2021).",
        *_threats(setting, ""),
        f"Attackers may send anything in {by.when}; the server clips it. k of them add k² times "
        f"{1 / (2 * setting.noise_multiplier**2):.6g} to the KL divergence in each round that they attack "
        f"(four times that where users are replaced){contraction}.",
        "It is not the theorem of the paper, which bounds a trigger and assumes a convex and smooth loss: "
        "any update within the clip bound is covered, and nothing is assumed about the loss.",
        "It assumes that everybody takes part in every round, that nobody sees the noise of the current or a "
        "later round, and that sums are divided by a number that does not move.",
        f"It is computed from {setting.confidence.replicas:,} trainings on the same users and is not a "
        f"private release. Releasing all of them, or this certificate: {releasing_all}.",
    ]


def _threats(setting: OtherSetting, kept: str) -> list[str]:
    told = {"inject": _JOIN, "present": _PRESENT, "compromise": _TAKEN.format(kept)}
    return [told[threat] for threat in setting.threats]


def _sure(setting: OtherSetting, classes: int, examples: int, draw: str) -> str:
    rule = setting.confidence
    whom = "all test examples together" if rule.simultaneous else "each test example"
    each = rule.each(classes, examples)
    drawn = f" They are drawn for what is claimed here (draw {draw})." if draw else ""
    return (
        f"For {whom}, with probability at least {level(rule.error)} over {rule.replicas:,} models, whose "
        "number was fixed beforehand: under every attack by at most k users the class with the largest "
        f"expectation is the one stated as top. Bounds: {rule.method}, each with error {each:.3g}.{drawn}"
    )
