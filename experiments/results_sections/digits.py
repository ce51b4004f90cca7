"""Miao et al.: the single pixel on digits."""

from __future__ import annotations

import printed
from results_sections.item import Item, last, late, records

from support import markdown

DIGITS = "miao_digits"


def table_2() -> Item:
    found = records(f"{DIGITS}/results.jsonl")
    rows = []
    for decay, (accuracy, success) in printed.WEIGHT_DECAY.items():
        each = found.get(f"weight decay {decay:g}, 4 of 20" if decay else "none, 4 of 20", [])
        ours = last(each, "accuracy"), last(each, "attack_success"), str(len(each))
        rows.append((f"{decay:g}", f"{accuracy:.2f} / {success:.2f}", *ours))
    return Item(
        name="Table 2, digits",
        about="weight decay against the single pixel",
        size=f"MNIST, `mlp`, 150 rounds, {rows[0][-1]} seeds; EMNIST at full size: 650 CPU hours",
        verdict="the direction is reproduced, not how sharply: 1e-3 leaves most of it here, 8 % in the paper",
        folder=DIGITS,
        lines=markdown(
            ("weight decay", "paper: accuracy / success", "here: accuracy", "success", "seeds"), rows
        ),
    )


def figure_2() -> Item:
    digits, cars = records("attacks_on_mnist/backdoor.jsonl"), records("miao_red_cars/results.jsonl")
    rows = []
    for each in (0, 1, 2, 4, 8):
        one = digits[f"P_m = {each}, E = 2, weight decay 0"]
        two = cars.get(f"data, {each // 2} of 10") if each != 1 else None
        shown = (last(two, "accuracy"), late(two)) if two else ("-", "-")
        paper = "48.99 on red cars" if each == 2 else "-"
        rows.append((f"{each} of 20", paper, last(one, "accuracy"), last(one, "attack_success"), *shown))
    return Item(
        name="Figure 2, 4",
        about="success against the number of attackers",
        size="digits: 120 rounds, 3 seeds; red cars: 6 rounds, 4 to 5 seeds",
        verdict="reproduced: success rises with attackers, behind accuracy, which hardly suffers",
        folder="attacks_on_mnist",
        lines=[
            "The paper has pictures; its text names one number.",
            "",
            *markdown(
                (
                    "attackers",
                    "success, paper",
                    "digits: accuracy",
                    "success",
                    "red cars: accuracy",
                    "success",
                ),
                rows,
            ),
        ],
    )


def figure_5() -> Item:
    found = records("attacks_on_mnist/backdoor.jsonl")
    rows = [
        (str(epochs), last(each, "accuracy"), last(each, "attack_success"), str(len(each)))
        for epochs in (1, 2, 5)
        for each in [found[f"P_m = 4, E = {epochs}, weight decay 0"]]
    ]
    return Item(
        name="Figure 5",
        about="local epochs against the single pixel",
        size="digits: 120 rounds, 3 seeds; red cars: not tried",
        verdict="not reproduced at this learning rate: one, two and five epochs end alike",
        folder="attacks_on_mnist",
        lines=markdown(("epochs", "accuracy", "success", "seeds"), rows),
    )


def figure_9() -> Item:
    found = records(f"{DIGITS}/results.jsonl")
    rows = []
    for defence, said in printed.DEFENCES.items():
        cells = []
        for attackers in (4, 8):
            each = found.get(f"{defence}, {attackers} of 20", [])
            cells += [last(each, "accuracy"), last(each, "attack_success")]
        rows.append((defence, said, *cells))
    head = (
        "defence",
        "paper's text on success",
        "4 of 20: accuracy",
        "success",
        "8 of 20: accuracy",
        "success",
    )
    return Item(
        name="Figure 9",
        about="five defences against the single pixel",
        size=f"MNIST, `mlp`, 150 rounds, {len(each)} seeds; EMNIST at full size: 1,560 CPU hours",
        verdict="Median works, and Krum fails with 8, as in the paper; Norm Bounding is poor only with 8; "
        "that CND is close to zero is not reproduced",
        folder=DIGITS,
        lines=["The paper has pictures only.", "", *markdown(head, rows)],
    )
