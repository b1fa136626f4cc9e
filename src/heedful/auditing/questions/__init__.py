"""The ten questions, a file each; a question is registered because its file is here."""

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
