"""Other attentions for the same text: (model, trace, batch, rng) -> weights to decide with instead.

One module per kind; each is registered by being here. A counterfactual gives one or many
attentions per document, points of the simplex over its real words.
"""

from importlib import import_module
from pkgutil import iter_modules

from heedful.counterfactual.base import Counterfactual, counterfactuals

for _module in iter_modules(__path__, prefix=f"{__name__}."):
    import_module(_module.name)

__all__ = ["Counterfactual", "counterfactuals"]
