"""Models of the command line: a run folder, or a Hugging Face model read in one way."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heedful.auditing.subjects.huggingface.loading import LoadedTransformer
    from heedful.auditing.subjects.huggingface.prompted import Prompt
    from heedful.auditing.subjects.huggingface.subject import TransformerSubject
    from heedful.auditing.subjects.huggingface.windows import LongTexts
    from heedful.model.precision import Precision

USUAL_READOUT = "last-cls"


@dataclass(frozen=True)
class TransformerSource:
    """A Hugging Face model, and how texts are given to it."""

    name: str
    long_texts: "LongTexts"
    prompt: "Prompt | None" = None  # a decoder is asked by one

    def load(self, device: str, precision: "Precision" = "auto") -> "LoadedTransformer":
        """The model, ready to be asked."""
        from heedful.auditing.subjects.huggingface.loading import (
            load_prompted_transformer,
            load_transformer,
        )
        from heedful.model.hub import quieten

        quieten()
        if self.prompt is None:
            return load_transformer(self.name, device, precision, self.long_texts)
        return load_prompted_transformer(self.name, self.prompt, device, precision, self.long_texts)


def transformer_source(
    model: str,
    template: str | None = None,
    label_words: str | None = None,
    long_texts: str | None = None,
    readout: object = None,
) -> TransformerSource | None:
    """What hf: or hf-prompt: names; None of a run folder, with which none of the options goes."""
    from heedful.errors import UsageError
    from heedful.model.hub import HF, HF_PROMPT

    is_prompted = model.startswith(HF_PROMPT)
    if not is_prompted and (template is not None or label_words is not None):
        raise UsageError(f"--template and --label-words need {HF_PROMPT}FOLDER_OR_NAME.")
    if not is_prompted and not model.startswith(HF):
        given = {"--readout": readout, "--long-texts": long_texts}
        for option, value in given.items():
            if value is not None:
                raise UsageError(f"{option} needs {HF}FOLDER_OR_NAME.")
        return None
    from heedful.auditing.subjects.huggingface.windows import LongTexts
    from heedful.config import check

    way: LongTexts = check(long_texts or "cut", LongTexts, "--long-texts")
    if not is_prompted:
        return TransformerSource(model.removeprefix(HF), way)
    from heedful.auditing.subjects.huggingface.prompted import Prompt

    prompt = Prompt.of(template, label_words)
    return TransformerSource(model.removeprefix(HF_PROMPT), way, prompt)


def transformer_subject(loaded: "LoadedTransformer", readout: str | None) -> "TransformerSubject":
    """A Hugging Face classifier, its attention read out as asked for."""
    from heedful.auditing.subjects.huggingface.subject import subject_of
    from heedful.readouts import readouts

    return subject_of(loaded.model, readouts.make(readout or USUAL_READOUT), loaded.classes)
