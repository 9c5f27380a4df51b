"""Explanations of groups, in the user's columns."""

from softecm.explain.profiles import Profiles, Trait, profile
from softecm.explain.trees import ExplanationTree

__all__ = ["ExplanationTree", "Profiles", "Trait", "profile"]
