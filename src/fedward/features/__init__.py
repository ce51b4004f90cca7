"""Public features, one a file: what every user computes of its examples before a linear head is trained.

Whatever a feature takes besides, its table may give

Args:
  public_users: so many users, drawn by the seed, or those with these names are public: they leave the
    federation.
  whiten: divide by the public deviation in each direction, with this ridge; nothing is divided if not given.
  rank: keep so many directions of largest public variance; all if not given.
  neighbours: embed in the graph of so many nearest public neighbours; no embedding if not given.
  dimensions: of that embedding.
"""

from __future__ import annotations

from fedward.features.apply_features import apply_features, choose_public
from fedward.features.given import Given
from fedward.features.hog import HOG
from fedward.features.network_features import NetworkFeatures
from fedward.features.preparation import Preparation
from fedward.features.public_directions import feature_directions, gradient_directions
from fedward.features.public_feature import PublicFeature
from fedward.features.scattering import Scattering
from fedward.features.word_vectors import WordVectors

PUBLIC_FEATURES: dict[str, type[PublicFeature]] = {
    "hog": HOG,
    "scattering": Scattering,
    "network": NetworkFeatures,
    "words": WordVectors,
    "given": Given,
}
"""The public features, by the names that experiment files use."""

__all__ = [
    "HOG",
    "PUBLIC_FEATURES",
    "Given",
    "NetworkFeatures",
    "Preparation",
    "PublicFeature",
    "Scattering",
    "WordVectors",
    "apply_features",
    "choose_public",
    "feature_directions",
    "gradient_directions",
]
