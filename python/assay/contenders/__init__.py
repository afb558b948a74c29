"""Ops and models of assay in PyTorch and Triton. Importing it imports neither."""

from assay.call import Call, Unsupported  # noqa: F401: the contenders' own names for them
