"""How large a corpus is: what papers tell of their data before anything else."""

from dataclasses import asdict, dataclass
from typing import Any

from heedful.analysis.instruments.base import OfCorpus, analyses
from heedful.analysis.result import Result
from heedful.text.documents import Corpus
from heedful.text.statistics import PartStatistics, corpus_statistics


@analyses.register("statistics")
@dataclass(frozen=True)
class Statistics(OfCorpus):
    """Documents, lengths, vocabulary and class sizes of a corpus, part by part (all papers)."""

    name = "statistics"
    asks = "How large is the corpus, how long are its texts, how common are its labels?"

    def analyse(self, corpus: Corpus) -> Result:
        """A row per part, and one for all parts together."""
        found = corpus_statistics(corpus)
        parts = tuple(_numbers(one) for one in found)
        labels = tuple(
            {"part": one.part, "label": label, "documents": count, "share": count / one.documents}
            for one in found
            for label, count in one.labels.items()
        )
        return Result(
            analysis=self.name,
            asks=self.asks,
            summary=tuple({**_numbers(one), **_by_label(one)} for one in found),
            tables={"parts": parts, "labels": labels},
            notes=(
                "Words are tokenized as in training, without case, and none is left out. Each "
                "part's vocabulary is its own.",
            ),
            about={"data": corpus.name},
        )


def _numbers(one: PartStatistics) -> dict[str, Any]:
    return {name: value for name, value in asdict(one).items() if name != "labels"}


def _by_label(one: PartStatistics) -> dict[str, int]:
    return {f"label {label}": count for label, count in one.labels.items()}
