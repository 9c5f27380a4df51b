"""The version."""

__version__ = "0.2.0rc1"
