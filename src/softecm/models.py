"""Fitted models as files; see :mod:`softecm.files.models`."""

from softecm.files.models import FORMAT, FORMAT_VERSION, load_model, save_model
from softecm.files.tensors import read_description, tensor_file

__all__ = ["FORMAT", "FORMAT_VERSION", "load_model", "read_description", "save_model", "tensor_file"]
