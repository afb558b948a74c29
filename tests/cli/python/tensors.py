"""Kernels of relu that return something else than a plain tensor; python_bad.sh says what becomes of each."""

import assay
import torch

@assay.kernel("relu")
def elsewhere(x):
    return torch.relu(x).to("meta")

@assay.kernel("relu")
def zero_size(x):
    return torch.relu(x)[:0]

@assay.kernel("relu")
def sparse(x):
    return torch.relu(x).to_sparse()

@assay.kernel("relu")
def conjugate(x):
    return torch.complex(x, x).conj()

@assay.kernel("relu")
def negated(x):
    return torch.relu(x)._neg_view()

@assay.kernel("relu")
def expanded(x):
    return torch.relu(x)[:1].expand(x.shape)


@assay.kernel("relu")
def right(x):
    return torch.relu(x)
