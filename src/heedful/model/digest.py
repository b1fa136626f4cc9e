"""A module's weights as one short word that changes with any of their numbers."""

import hashlib

import torch
from torch import nn

CHARACTERS = 16  # of the digest: 64 bits tell any two models apart


def weights_digest(module: nn.Module) -> str:
    """Hexadecimal digest of the names and numbers of a module's parameters and buffers."""
    found = hashlib.sha256()
    for name, numbers in sorted(module.state_dict().items()):
        found.update(name.encode())
        found.update(numbers.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy())
    return found.hexdigest()[:CHARACTERS]
