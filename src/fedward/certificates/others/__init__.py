"""Certificates by proofs of others: groups of users (FLCert) and smoothed parameters (CRFL)."""

from __future__ import annotations

from fedward.certificates.others.disjoint_groups import DisjointGroups
from fedward.certificates.others.parameter_smoothing import ParameterSmoothing
from fedward.certificates.others.random_groups import RandomGroups

Proof = DisjointGroups | RandomGroups | ParameterSmoothing
"""By which proof something is certified, where it is not fedward's own."""

Groups = DisjointGroups | RandomGroups
"""A proof that rests on who trains together, and on no noise."""

PROOFS: dict[str, type[Proof]] = {
    "flcert": DisjointGroups,
    "flcert_random": RandomGroups,
    "crfl": ParameterSmoothing,
}
"""The proofs of others, by the names that ``--by`` takes."""

__all__ = ["PROOFS", "DisjointGroups", "Groups", "ParameterSmoothing", "Proof", "RandomGroups"]
