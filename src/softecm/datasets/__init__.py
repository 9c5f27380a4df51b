"""Data sets: small ones embedded, made ones, and public ones read through their loaders or from a folder."""

from softecm.datasets.toy import load_diamond, make_blobs, make_mixed_blobs

__all__ = ["load_diamond", "make_blobs", "make_mixed_blobs"]
