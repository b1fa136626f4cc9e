"""One file per recipe; each is registered by being here, and at hand as `heedful.recipes.Name`."""

from importlib import import_module
from pkgutil import iter_modules

from heedful.training.recipe import recipes

for _module in iter_modules(__path__, prefix=f"{__name__}."):
    import_module(_module.name)

globals().update({member.__name__: member for member in recipes.values()})

__all__ = ["recipes", *(member.__name__ for member in recipes.values())]
