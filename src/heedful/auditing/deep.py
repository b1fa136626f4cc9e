"""The twins that a deep audit takes, and whether they would be trained on the same documents."""

from collections.abc import Sequence

from heedful.auditing.questions import AuditSettings, questions
from heedful.auditing.subjects.retrained import Twin
from heedful.errors import DataError
from heedful.training.settings import Settings
from heedful.training.task import Task
from heedful.training.trained import Trained


def twins_wanted(
    settings: AuditSettings, run: Settings, asked: Sequence[str] | None = None
) -> list[Twin]:
    """The twins of all questions (or of those asked), each once."""
    found = [
        twin for name in asked or questions for twin in questions.make(name).twins(settings, run)
    ]
    return list({twin.name: twin for twin in found}.values())


def check_same_documents(trained: Trained, task: Task) -> None:
    """Refuse documents that are not those the model was trained on."""
    now = task.describe()["fingerprint"]
    before = trained.provenance.get("data", {}).get("fingerprint")
    if now != before:
        raise DataError(
            "a deep audit trains models on the training documents of the audited model, but these "
            f"are different documents (fingerprint {now}, then {before}). Give the same documents, "
            "split in the same way."
        )
