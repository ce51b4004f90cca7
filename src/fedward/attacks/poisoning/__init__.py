"""Data poisoning: what attackers do to their own examples, one attack a file."""

from __future__ import annotations

from fedward.attacks.attack_types import Poisoning
from fedward.attacks.poisoning.a3fl import A3FL
from fedward.attacks.poisoning.blended import BlendedBackdoor
from fedward.attacks.poisoning.clean_label import CleanLabelBackdoor
from fedward.attacks.poisoning.distributed import DistributedBackdoor
from fedward.attacks.poisoning.edge_case import EdgeCaseBackdoor
from fedward.attacks.poisoning.features import FEATURES, BoldDigit, Feature, SlantedDigit
from fedward.attacks.poisoning.label_flip import LabelFlip
from fedward.attacks.poisoning.pattern import PatternBackdoor
from fedward.attacks.poisoning.patterns import PATTERNS, Pattern, Pixels, Square, Triangle
from fedward.attacks.poisoning.portion import poison_examples
from fedward.attacks.poisoning.red_car import RedCar
from fedward.attacks.poisoning.semantic import SemanticBackdoor
from fedward.attacks.poisoning.sentences import PlantedSentences
from fedward.attacks.poisoning.single_pixel import SinglePixel
from fedward.attacks.poisoning.unprepared import Unprepared
from fedward.attacks.poisoning.word import LONDON, WordBackdoor

POISONINGS: dict[str, type[Poisoning | Unprepared]] = {
    "single_pixel": SinglePixel,
    "pattern": PatternBackdoor,
    "distributed": DistributedBackdoor,
    "blended": BlendedBackdoor,
    "clean_label": CleanLabelBackdoor,
    "label_flip": LabelFlip,
    "semantic": SemanticBackdoor,
    "edge_case": EdgeCaseBackdoor,
    "a3fl": A3FL,
    "word": WordBackdoor,
}
"""The attacks on data, by the names that experiment files use."""

__all__ = [
    "A3FL",
    "FEATURES",
    "LONDON",
    "PATTERNS",
    "POISONINGS",
    "BlendedBackdoor",
    "BoldDigit",
    "CleanLabelBackdoor",
    "DistributedBackdoor",
    "EdgeCaseBackdoor",
    "Feature",
    "LabelFlip",
    "Pattern",
    "PatternBackdoor",
    "Pixels",
    "PlantedSentences",
    "RedCar",
    "SemanticBackdoor",
    "SinglePixel",
    "SlantedDigit",
    "Square",
    "Triangle",
    "Unprepared",
    "WordBackdoor",
    "poison_examples",
]
