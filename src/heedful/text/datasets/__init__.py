"""Corpora by name: built in, made up with known evidence, or found in a data folder.

One module per source; each corpus is registered by being here. A member of `corpora` is called
without arguments and gives a `Corpus`.
"""

from importlib import import_module
from pkgutil import iter_modules

from heedful.text.datasets.registry import corpora, load, names_in

for _module in iter_modules(__path__, prefix=f"{__name__}."):
    import_module(_module.name)

__all__ = ["corpora", "load", "names_in"]
