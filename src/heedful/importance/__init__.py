"""How much each word matters: what is seen of a model and documents -> a signed score per word.

One module per way of measuring; each measure is registered by being here. Scores are zero on
padding, signed where the measure has a sign (positive: speaks for the target), and never
normalised: callers that need absolute values or shares take them.
"""

from importlib import import_module
from pkgutil import iter_modules

from heedful.importance.base import Importance, importances, predicted
from heedful.importance.captum import from_captum
from heedful.importance.captum_by_deletion import from_captum_by_deletion
from heedful.importance.seen import Need, Seen

for _module in iter_modules(__path__, prefix=f"{__name__}."):
    import_module(_module.name)

__all__ = [
    "Importance",
    "Need",
    "Seen",
    "from_captum",
    "from_captum_by_deletion",
    "importances",
    "predicted",
]
