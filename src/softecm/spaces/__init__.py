"""Conversion between raw data and tensors; import each space from its own module."""
