"""Attention of many layers and heads -> one weight per word.

One module per kind; each readout is registered by being here. A readout sees what a Transformer's
layers attended to in one forward pass and gives one number per position; `pool_to_words` makes
weights of words of them, without the special ones.
"""

from importlib import import_module
from pkgutil import iter_modules

from heedful.readouts.base import Attended, Readout, readouts

for _module in iter_modules(__path__, prefix=f"{__name__}."):
    import_module(_module.name)

__all__ = ["Attended", "Readout", "readouts"]
