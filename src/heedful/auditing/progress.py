"""What is told about an audit while it runs."""


class AuditWatcher:
    """Told how an audit proceeds; the default looks away.

    Several audits of the same documents are told of as one: each document counts in each of them.
    """

    def begin_phase(self, phase: str) -> None:
        """This begins: MEASURING, or one of the phases after it."""

    def expect(self, documents: int) -> None:
        """With a budget: about so many documents will be measured in all. The plan may change."""

    def advance(self, documents: int) -> None:
        """So many more documents are measured."""

    def note(self, sentence: str) -> None:
        """Something that a person should know at once."""


MEASURING = "auditing"
