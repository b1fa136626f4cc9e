"""Formats of attributions, one module each; each is registered by being here."""

from importlib import import_module
from pkgutil import iter_modules

from heedful.importance.attributions.formats.base import AttributionFormat, Row, formats

for _module in iter_modules(__path__, prefix=f"{__name__}."):
    import_module(_module.name)

__all__ = ["AttributionFormat", "Row", "formats"]
