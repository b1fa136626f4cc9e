"""Arrays in, one number per example out; each metric is registered by standing in this folder."""

from importlib import import_module
from pkgutil import iter_modules

from heedful.auditing.metrics.base import Better, Metric, metric, metrics

for _module in iter_modules(__path__, prefix=f"{__name__}."):
    import_module(_module.name)

__all__ = ["Better", "Metric", "metric", "metrics"]
