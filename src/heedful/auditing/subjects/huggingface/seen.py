"""What measures of importance see of a Hugging Face classifier, summed over the pieces of words.

Gradients are asked for by the embeddings alone: no parameter gathers any.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from heedful.auditing.subjects.base import Judge, Reading, SeenReading
from heedful.auditing.subjects.huggingface.attention import (
    Watch,
    as_it_was,
    parameters_held,
    watching,
)
from heedful.auditing.subjects.huggingface.blocks import block_outputs, passed_blocks
from heedful.auditing.subjects.huggingface.model import TransformerModel
from heedful.auditing.subjects.huggingface.packing import Rows
from heedful.auditing.subjects.huggingface.tokenization import PieceBatch
from heedful.importance.held_layers import layers_held
from heedful.importance.seen import (
    AttentionSum,
    Held,
    Layers,
    Part,
    Pass,
    PositionScores,
    Square,
    Target,
    TokenScores,
    Vectors,
    of_target,
)
from heedful.readouts import Attended, Readout
from heedful.readouts.pooling import SPECIAL


class SeenTransformer(SeenReading):
    """A reading of a Transformer, and gradients inside it."""

    of = "logits"

    def __init__(
        self, judge: Judge, model: TransformerModel, readout: Readout, reading: Reading
    ) -> None:
        super().__init__(judge, reading)
        self.model, self.readout = model, readout
        self.is_of_readout = False  # whether anything was asked that depends on the readout

    @property
    def shown(self) -> TokenScores:
        """The weights of the reading."""
        self.is_of_readout = True
        return super().shown

    def by_weights(self, score: Callable[[Tensor, Tensor], Tensor]) -> TokenScores:
        """Of the predicted logit, summed over the layers, heads and rows the readout looks at."""
        self.is_of_readout = True
        layers = self.readout.layers(self.model.layers)
        heads = list(self.readout.heads(self.model.heads))

        def read(attended: Attended, batch: PieceBatch) -> Tensor:
            scored = [
                attended.row(score(attended.weights[layer], attended.gradients[layer]))[:, heads]
                for layer in layers
            ]
            total = torch.stack([each.sum(dim=1) for each in scored]).sum(dim=0)
            return batch.on_words(total.double(), self.is_token.shape[1])

        rows, _ = self.model.attend(self.reading.inner, read, needs_gradients=True)
        return torch.stack(rows) * self.is_token

    def by_parts(self, score: Callable[[Part], PositionScores], passes: int = 1) -> TokenScores:
        """Texts of like length together; a position is a piece of a word."""
        packer = self.model.packer

        def run(batch: PieceBatch, rows: Rows) -> list[Tensor]:
            target = self.target[torch.from_numpy(rows)].to(batch.word_of.device)
            part = _Packed(self.model, batch, target[batch.text_of])
            part.copies = max(1, packer.with_gradients // batch.word_of.numel())
            with parameters_held(self.model.model):
                values = score(part).detach().double()
            return list(batch.on_words(values, self.is_token.shape[1]).cpu())

        found = packer.run(
            self.reading.inner, run, lambda longest: packer.with_gradients // longest, passes
        )
        return torch.stack(found) * self.is_token


class _Packed(Part):
    """Texts in one batch; those in windows have several rows."""

    def __init__(self, model: TransformerModel, batch: PieceBatch, target: Target) -> None:
        self.model, self.batch, self.target = model, batch, target
        self.is_word = batch.word_of != SPECIAL

    def repeated(self, times: int) -> "_Packed":
        """The rows again and again."""
        return _Packed(self.model, self.batch.tiled(times), self.target.repeat(times))

    def run(
        self, change: Callable[[Vectors], Vectors] | None = None, *, held: Held = "nothing"
    ) -> Pass:
        """Embeddings to logits; with layers held, from what the first layer is given."""
        model, own = self.model.model, list[Tensor]()

        def noted(vectors: Vectors) -> Vectors:
            own.append(vectors)
            return vectors.clone() if change is None else change(vectors)

        around: dict[Held, Callable[[], AbstractContextManager[None]]] = {
            "nothing": nullcontext,
            "weights": lambda: watching(model, Watch(holds=True, keeps=False)),
            "layers": lambda: layers_held(model),
        }
        embedded = self.model.embedded(noted, "first layer" if held == "layers" else "words")
        with torch.enable_grad(), as_it_was(model), around[held](), embedded as used:
            logits = model(**self.batch.inputs).logits
        return Pass(own[0], used[0], logits)

    def layers(self) -> Layers:
        """One pass, watched."""
        model, watch = self.model.model, Watch()
        outputs = block_outputs(model, self.model.layers)
        embedded = self.model.embedded()
        with torch.enable_grad(), watching(model, watch), embedded as used, outputs as states:
            logits = model(**self.batch.inputs).logits
        is_real, is_read = self.batch.is_real, self.model.is_read(self.batch)
        return Layers(used[0], states, watch.weights, logits, is_real, is_read)

    def sums(self) -> list[AttentionSum]:
        """One pass."""
        return self.model.sums(self.batch)

    def contributions(self) -> tuple[Tensor, PositionScores]:
        """One pass of every position, as many rows at a time as there is room for."""
        rows, longest = self.batch.is_real.shape
        size = max(1, self.model.packer.at_once // (longest * (longest + 2)))
        found = []
        for start in range(0, rows, size):
            some = slice(start, start + size)
            inputs = {name: numbers[some] for name, numbers in self.batch.inputs.items()}
            logits, parts = self.model.contributions(inputs)
            target = self.target[some]
            found.append((of_target(logits, target), of_target(parts, target)))
        of_logits, of_parts = zip(*found, strict=True)
        return torch.cat(of_logits), torch.cat(of_parts)

    def without_values(self) -> Iterator[Square]:
        """Each layer once for every position."""
        model, is_real = self.model.model, self.batch.is_real
        pairs = is_real[:, :, None] & is_real[:, None]
        with torch.inference_mode():
            for passed in passed_blocks(model, self.batch, self.model.layers):
                moved = [
                    1 - torch.cosine_similarity(passed.without_value(model, p), passed.output, -1)
                    for p in range(is_real.shape[1])
                ]
                yield torch.stack(moved, dim=-1).clamp(min=0) * pairs
