"""A plan in sentences: the answer first, then why, then what it rests on."""

from __future__ import annotations

from collections.abc import Iterator

from fedward.certificates.plan_goal import METHOD, SCORE, Goal
from fedward.certificates.planning import ACCOUNTANT, ADJACENCY, UNIT, LimitedBy
from fedward.certificates.recommendation import Evidence, Recommendation
from fedward.forecast.plan import Plan
from fedward.privacy.guarantee import ACCOUNTANT_LABELS
from fedward.privacy.rounding import delta_text, epsilon_text
from fedward.reports.numbers import duration, many

_WHY: dict[LimitedBy, str] = {
    "epsilon": "ε sets the noise: with less of it one training would spend more than may be spent.",
    "k": "k sets the noise: with less of it not even unanimous replicas could certify so many attackers.",
    "share": "The noise is more than ε asks for: more noise hides attackers better, and by the pilot the "
    "model bears it.",
}
_EVIDENCE: dict[Evidence, str] = {
    "measured": "Accuracy was measured: {replicas} with this noise.",
    "scaled": "Accuracy was scaled from {replicas} with {times:.3g} times the noise on the mean.",
    "assumed": "Accuracy was not measured: the expected vote is assumed, as it was given.",
    "unknown": "Accuracy is unknown: without a pilot nobody knows whether a model learns anything under this "
    "noise. Give --pilot, a run of fedward replicas or an experiment file.",
}
NOT_COVERED = (
    "Pilot trainings are covered by no ε: pilot on public or generated data of the same kind, or count what "
    "they spend."
)


def goal_in_words(goal: Goal) -> str:
    """What was asked for.

    >>> goal_in_words(Goal(users=200, k=10, epsilon=2.0, delta=1e-3))
    'k = 10 (inject) of 200 users, within ε = 2 at δ = 0.001 (user level, add/remove, pld accountant)'
    """
    within = "" if goal.epsilon is None else f", within ε = {goal.epsilon:g} {about(goal)}"
    return f"k = {goal.k} ({goal.threat}) of {goal.users:,} users{within}"


def about(goal: Goal) -> str:
    """What every ε of a plan is about."""
    words = f"{UNIT} level, {ADJACENCY}, {ACCOUNTANT_LABELS[ACCOUNTANT]}"
    return f"at δ = {delta_text(goal.own_delta)} ({words})"


def plan_in_words(plan: Plan) -> Iterator[str]:
    """The answer, what it spends, what may be expected, how long it takes, and why."""
    answer = plan.recommendation
    if answer is None:
        yield (
            f"Nothing of the {plan.tried} pairs of rounds and sampling rate that were tried meets this: "
            f"{goal_in_words(plan.goal)}. Ask for a smaller k or a larger ε, or have more users."
        )
        return
    yield _take(plan, answer)
    yield (
        f"One training spends ε = {epsilon_text(answer.guarantee.epsilon)} {about(plan.goal)}. The "
        f"certificate is computed from all {answer.replicas:,}: releasing it spends "
        f"ε = {epsilon_text(answer.releasing_all.epsilon)}; keep it inside, or certify on public data."
    )
    yield from _expected(plan, answer)
    if plan.seconds is not None:
        low, high = map(duration, plan.seconds)
        yield f"Training and certifying takes about {low} to {high} on this machine."
    yield f"Why: {_WHY[answer.prospect.option.limited_by]} {_why_this(plan)}"
    yield _evidence(plan, answer)
    if plan.pilot is not None and plan.pilot.origin == "file":
        yield NOT_COVERED


def _take(plan: Plan, answer: Recommendation) -> str:
    noise = answer.prospect.option.noise
    clip = "" if plan.clip_bound is None else f", clip bound S = {plan.clip_bound:g}"
    cohort = f"about {noise.cohort:,.4g} of {noise.users:,} users a round"
    return (
        f"Take noise multiplier z = {noise.noise_multiplier:g}, sampling rate q = {noise.sampling_rate:g} "
        f"({cohort}), T = {many(noise.rounds, 'round')}{clip}, and M = {answer.replicas:,} replicas that "
        f"vote ({METHOD})."
    )


def _expected(plan: Plan, answer: Recommendation) -> Iterator[str]:
    goal, shares = plan.goal, answer.prospect.shares
    least = (
        ""
        if answer.least_replicas is None
        else f"; with fewer than {answer.least_replicas:,} not even k = {goal.k}"
    )
    ceiling = f"With M = {answer.replicas:,} nothing above k = {answer.ceiling} can be certified{least}."
    if shares is None:
        yield ceiling
        return
    reached = "" if answer.largest_k is None else f"; k = {answer.largest_k} at {goal.share:.0%} of them"
    yield (
        f"Expect at least {shares.cautious:.0%} of the test examples right and certified against "
        f"k = {goal.k} (without caution {shares.expected:.0%}){reached}. {ceiling}"
    )
    if answer.reached is False:
        yield (
            f"This is less than the share of {goal.share:.0%} that is wanted, and the most that was found: "
            "ask for a smaller k or a larger ε, have more users, or a model that learns with less."
        )


def _why_this(plan: Plan) -> str:
    known = sum(each.shares is not None for each in plan.frontier)
    if known:
        return (
            f"Of {known} trainings that the pilot speaks about none is predicted to certify 2 points more, "
            "and of those this is the least work."
        )
    return (
        "Of all that were tried none has clearly less noise for what it learns, and of those this is the "
        "least work."
    )


def _evidence(plan: Plan, answer: Recommendation) -> str:
    pilot, evidence = plan.pilot, answer.prospect.evidence
    if pilot is None:
        return _EVIDENCE[evidence]
    times = pilot.noise.on_mean / answer.prospect.option.noise.on_mean
    return _EVIDENCE[evidence].format(replicas=many(pilot.replicas, "pilot training"), times=times)


def certify_arguments(plan: Plan) -> tuple[str, ...]:
    """The arguments of ``fedward certify`` behind the file that certify the answer; none without one."""
    answer = plan.recommendation
    if answer is None:
        return ()
    noise = answer.prospect.option.noise
    rate = f'{{name="poisson",rate={noise.sampling_rate:g}}}'
    sampler = '{name="everyone"}' if noise.sampling_rate == 1 else rate
    changes = (
        f"rounds={noise.rounds}",
        f"algorithm.noise_multiplier={noise.noise_multiplier:g}",
        f"algorithm.sampler={sampler}",
        f"privacy.users={noise.users}",
    )
    attendance = () if plan.goal.attendance == "drawn" else ("--attendance", plan.goal.attendance)
    error = () if plan.goal.error == 0.01 else ("--error", f"{plan.goal.error:g}")
    return (
        *(part for change in changes for part in ("--set", change)),
        *("-m", str(answer.replicas), "--score", SCORE, "--threat", plan.goal.threat),
        *attendance,
        *error,
    )
