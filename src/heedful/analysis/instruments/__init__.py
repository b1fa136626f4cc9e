"""One file per analysis; each is registered by being here."""

from importlib import import_module
from pkgutil import iter_modules

from heedful.analysis.instruments.base import Analysis, analyses

for _module in iter_modules(__path__, prefix=f"{__name__}."):
    import_module(_module.name)

__all__ = ["Analysis", "analyses"]
