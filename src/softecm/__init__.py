"""Evidential clustering."""
