"""Raw data on one side, tensors on the other; each space is imported from its own module."""
