"""One file per question; each is registered by being here."""

from importlib import import_module
from pkgutil import iter_modules

from heedful.auditing.questions.base import (
    AuditSettings,
    Question,
    audit_tests,
    questions,
)

for _module in iter_modules(__path__, prefix=f"{__name__}."):
    import_module(_module.name)

__all__ = ["AuditSettings", "Question", "audit_tests", "questions"]
