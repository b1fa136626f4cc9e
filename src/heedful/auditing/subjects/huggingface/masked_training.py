"""A copy of a Transformer that is used to texts with words replaced, as a judge in deep audits.

It learns the audited model's answers to whole texts, from the texts whole and with a random share
of their words replaced by the mask (Madsen et al. 2024). Documents that are judged are never among
them: it would know their answers by heart.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch

from heedful.auditing.questions import AuditSettings
from heedful.auditing.sampling import drawn
from heedful.auditing.subjects.huggingface.model import TransformerModel
from heedful.auditing.subjects.huggingface.subject import TransformerSubject
from heedful.auditing.subjects.replacing import randomly_replaced
from heedful.auditing.subjects.retrained import Twins
from heedful.errors import counted
from heedful.text.documents import Documents, fingerprints

FEWEST = 100  # texts that a copy learns from


@dataclass(frozen=True)
class MaskedTraining:
    """How a copy is trained."""

    texts: int = 1000  # different ones, at most
    steps: int = 150
    texts_at_once: int = 32  # half of them with words replaced
    learning_rate: float = 5e-5
    seed: int = 0


def texts_to_learn(
    documents: Documents, settings: AuditSettings, sample: int | None, given: Sequence[str] | None
) -> tuple[list[str], str]:
    """Texts that are not audited, or why there are none: given ones, else those not sampled."""
    audited = documents.take(drawn(documents, settings, sample).tolist())
    known = set(fingerprints(audited.texts).tolist())
    texts = list(dict.fromkeys(documents.texts if given is None else given))
    numbers = fingerprints(texts).tolist()
    new = [text for text, number in zip(texts, numbers, strict=True) if number not in known]
    if len(new) >= FEWEST:
        return new, ""
    return [], (
        f"it learns from at least {FEWEST} texts that are not audited, and there "
        f"{'is' if len(new) == 1 else 'are'} {counted(len(new), 'text')}: audit a sample "
        "(--documents) or give others with --train"
    )


def masked_judge(subject: TransformerSubject, texts: Sequence[str], why_none: str) -> Twins:
    """The judge of a deep audit, trained on these texts; without them, why there is none."""
    if why_none or not subject.replacement:
        missing = why_none or "the tokenizer has neither a mask nor an unknown word"
        return Twins(why_no_judge=missing)
    copy = train_on_masked(subject.model, texts, subject.replacement, MaskedTraining())
    return Twins(judge=TransformerSubject(copy, subject.readout, subject.classes))


def train_on_masked(
    model: TransformerModel, texts: Sequence[str], replacement: str, training: MaskedTraining
) -> TransformerModel:
    """A copy of the model, fine-tuned; the model itself is left as it is."""
    rng = np.random.default_rng(training.seed)
    texts = [texts[row] for row in rng.permutation(len(texts))[: training.texts].tolist()]
    copy = deepcopy(model.model).float().train()
    answers = torch.from_numpy(model.probabilities(texts)).float().to(copy.device)
    offsets = [pieces.offsets for pieces in model.cutter.cut(texts)]
    optimizer = torch.optim.AdamW(copy.parameters(), lr=training.learning_rate)
    with torch.random.fork_rng(), torch.enable_grad():
        torch.manual_seed(training.seed)  # of dropout
        for _ in range(training.steps):
            rows = rng.integers(len(texts), size=training.texts_at_once)
            shown = [
                randomly_replaced(texts[row], offsets[row], replacement, rng)
                if place % 2
                else texts[row]
                for place, row in enumerate(rows.tolist())
            ]
            batch = model.cutter.pad(model.cutter.encode(shown)).to(copy.device)
            logits = batch.together(copy(**batch.inputs).logits)
            loss = torch.nn.functional.cross_entropy(logits, answers[torch.from_numpy(rows)])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model.like(copy.eval())
