"""What groups are, in columns people know."""

from softecm.explain.profiles import Profiles, Trait, profile

__all__ = ["Profiles", "Trait", "profile"]
