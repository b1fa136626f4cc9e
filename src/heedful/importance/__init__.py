"""How much each word matters: (model, batch, target) -> one signed score per token.

One module per way of measuring; each measure is registered by being here. Scores are zero on
padding, signed where the measure has a sign (positive: speaks for the target), and never
normalised: whoever wants absolute values or shares takes them.
"""

from importlib import import_module
from pkgutil import iter_modules

from heedful.importance.base import Importance, importances, predicted
from heedful.importance.captum import from_captum

for _module in iter_modules(__path__, prefix=f"{__name__}."):
    import_module(_module.name)

__all__ = ["Importance", "from_captum", "importances", "predicted"]
