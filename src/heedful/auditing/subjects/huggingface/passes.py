"""One batch at a time through a Hugging Face model: watched, differentiated, attending otherwise.

What a model allows is found out by trying it on two short texts: which positions its classifier
reads, whether its attention can be replaced, which gradients there are, whether it can be taken
apart. Nothing is changed in the model.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cached_property
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from transformers import PreTrainedModel

from heedful.auditing.subjects.huggingface.attention import (
    HALF,
    LOOSE,
    CannotWatch,
    Imposition,
    Watch,
    WordWeights,
    as_it_was,
    check_layers,
    watching,
)
from heedful.auditing.subjects.huggingface.blocks import block_lists, passed_blocks
from heedful.auditing.subjects.huggingface.contributions import biased_later, contributions
from heedful.auditing.subjects.huggingface.output_matrices import OutputMap, output_maps
from heedful.auditing.subjects.huggingface.residuals import attention_sums
from heedful.auditing.subjects.huggingface.tokenization import PieceBatch, PieceCutter
from heedful.errors import ConfigError
from heedful.importance.held_layers import unexplained
from heedful.importance.seen import AttentionSum
from heedful.readouts import Attended, Readout
from heedful.readouts.base import Squares

PROBE = ("some words to find out how the model reads", "two words")

NOT_RUN = (CannotWatch, RuntimeError, TypeError, ValueError, AttributeError, LookupError)

Reads = Literal["first", "last", "all"]
At = Literal["words", "first layer"]  # where embeddings are taken


class ModelPasses:
    """A model, how its texts are cut, and what it allows."""

    def __init__(self, model: PreTrainedModel, cutter: PieceCutter) -> None:
        self.model = model
        self.cutter = cutter
        self.is_encoder_decoder = bool(getattr(model.config, "is_encoder_decoder", False))
        self.reads: Reads = self._find_reads()
        self.why_fixed = ""  # why other weights cannot be imposed; nothing if they can
        self.layers, self.heads = self._find_attention()

    def attended(
        self, batch: PieceBatch, needs_gradients: bool = False, needs_values: bool = False
    ) -> tuple[Attended, Float[Tensor, "batch classes"]]:
        """One forward pass, watched."""
        watch = Watch()
        with torch.set_grad_enabled(needs_gradients):
            around = self.embedded() if needs_gradients else nullcontext()
            if self.why_fixed:
                with as_it_was(self.model), around:
                    self.model.set_attn_implementation("eager")
                    output = self.model(**batch.inputs, output_attentions=True)
                crossing = output.cross_attentions if self.is_encoder_decoder else output.attentions
                weights = list(crossing or ())
            else:
                with watching(self.model, watch), around:
                    output = self.model(**batch.inputs)
                weights = watch.weights
            check_layers(weights, batch.is_real)
            slopes: Sequence[Tensor] = ()
            if needs_gradients:
                chosen = batch.together(output.logits.detach()).argmax(dim=-1)[batch.text_of]
                of_prediction = output.logits.gather(1, chosen[:, None]).sum()
                # A layer behind the last state that is read has no gradient at all.
                found = torch.autograd.grad(of_prediction, weights, allow_unused=True)
                slopes = [
                    torch.zeros_like(layer) if slope is None else slope
                    for slope, layer in zip(found, weights, strict=True)
                ]
        layers = [layer.detach() for layer in weights]
        values = [value.detach() for value in watch.values]
        squares = self.squares if needs_values else ()
        attended = Attended(layers, self.is_read(batch), values, slopes, squares)
        return attended, output.logits.detach()

    def logits_under(
        self, batch: PieceBatch, readout: Readout, shown: WordWeights, imposed: WordWeights
    ) -> Float[Tensor, "batch classes"]:
        """The logits of texts with other weights imposed, by which they can be differentiated."""
        layers, heads = readout.layers(self.layers), readout.heads(self.heads)
        shown, imposed = batch.within(shown, imposed)
        impose = Imposition.of(layers, heads, self.is_read(batch), batch.word_of, shown, imposed)
        watch = Watch(impose, keeps=False)
        with watching(self.model, watch):
            logits = self.model(**batch.inputs).logits
        if watch.calls != self.layers:
            raise CannotWatch(f"{watch.calls} layers attended, {self.layers} did before")
        return batch.together(logits)

    @cached_property
    def squares(self) -> tuple[Squares, ...]:
        """What layers do to the lengths of values; nothing where it cannot be found out."""
        return tuple(output.squares() for output in self.maps)

    @cached_property
    def maps(self) -> tuple[OutputMap, ...]:
        """The output matrices of its layers; nothing where they cannot be found."""
        if self.why_fixed:
            return ()
        batch = self._probe()
        return tuple(output_maps(self.model, batch))

    def sums(self, batch: PieceBatch) -> list[AttentionSum]:
        """What the attention of each layer adds to its states."""
        return attention_sums(self.model, batch, self.maps, self.layers)

    @cached_property
    def why_no_sums(self) -> str:
        """Why it cannot be seen what attention adds to states; nothing if it can."""
        if self.why_no_layers:
            return self.why_no_layers
        try:
            self.sums(self._probe())
        except CannotWatch as refusal:
            return str(refusal)
        return ""

    def contributions(
        self, inputs: Mapping[str, Tensor]
    ) -> tuple[Float[Tensor, "batch classes"], Float[Tensor, "batch positions classes"]]:
        """The logits of each row, and what each position gives to them, biases included."""

        def embedded(change: Callable[[Tensor], Tensor]) -> AbstractContextManager[object]:
            return self.embedded(change, "first layer")

        return contributions(self.model, inputs, embedded, self._biased_later)

    @cached_property
    def _biased_later(self) -> frozenset[int]:
        return biased_later(self.model, self._probe(), self.maps)

    @cached_property
    def why_not_shared(self) -> str:
        """Why biases cannot be shared out so that words and special positions add up to the logits;
        nothing if they can. Found out by adding up.
        """
        kind = type(self.model).__name__
        if not self.maps:
            return f"the output matrices of the layers of {kind} were not found"
        batch = self._probe()
        with torch.no_grad(), as_it_was(self.model):
            logits = self.model(**batch.inputs).logits
        try:
            found, parts = self.contributions(batch.inputs)
        except NOT_RUN as no:
            return f"what the positions of {kind} give cannot be followed ({no!s:.80})"
        size = logits.abs().amax()
        missing = max(
            float((found - logits).abs().amax() / size),
            float((parts.sum(dim=1) - logits).abs().amax() / size),
        )
        if missing <= LOOSE.get(self.model.dtype, HALF):
            return ""
        return (
            "with biases shared out, what the positions give to the logits of "
            f"{kind} does not add up to them (off by {missing:.0%})"
        )

    @cached_property
    def why_no_gradients(self) -> str:
        """Why there are no gradients by the embeddings of a text; nothing if there are."""
        batch = self._probe()
        with torch.enable_grad(), as_it_was(self.model), self.embedded() as used:
            self.model(**batch.inputs)
        if len(used) == 1 and used[0].shape[:2] == batch.is_real.shape:
            return ""
        return f"the embeddings of {type(self.model).__name__} are not one vector for each position"

    @cached_property
    def why_no_slopes(self) -> str:
        """Why there are no gradients by attention weights; nothing if there are."""
        if not self.why_fixed:
            return ""
        batch = self._probe()
        attended, _ = self.attended(batch, needs_gradients=True)
        if any(bool(slope.any()) for slope in attended.gradients):
            return ""
        kind = type(self.model).__name__
        return f"the attention that {kind} shows is a copy, on which no logit depends"

    @cached_property
    def why_not_decomposed(self) -> str:
        """Why a logit is not the sum of what words and biases give to it, once layers are held;
        nothing if it is. Found out by adding up.
        """
        if self.is_encoder_decoder:
            return f"{type(self.model).__name__} reads words in an encoder and again in a decoder"
        batch = self._probe()

        def run() -> tuple[Tensor, Float[Tensor, "batch classes"]]:
            with as_it_was(self.model), self.embedded(at="first layer") as used:
                logits = self.model(**batch.inputs).logits
            return used[0], logits

        if self.why_no_gradients:
            return self.why_no_gradients
        missing = unexplained(self.model, run)
        if missing <= LOOSE.get(self.model.dtype, HALF):
            return ""
        return (
            "with attention, normalisation and activations held, what words and biases give to "
            f"the logits of {type(self.model).__name__} does not add up to them (off by "
            f"{missing:.0%})"
        )

    @property
    def why_no_flow(self) -> str:
        """Why attention cannot be followed from layer to layer; nothing if it can."""
        if not self.is_encoder_decoder:
            return ""
        kind = type(self.model).__name__
        return f"the decoder of {kind} attends to the encoder's states, not to its own layers"

    @cached_property
    def why_no_layers(self) -> str:
        """Why its layers cannot be looked into and run one by one; nothing if they can.

        Found out by running each again: it must give the same states again, and others once values
        are zeroed.
        """
        kind = type(self.model).__name__
        if self.why_fixed or not block_lists(self.model, self.layers):
            return f"the layers of {kind} cannot be run one by one"
        batch = self._probe()
        try:
            with torch.inference_mode():
                passed = passed_blocks(self.model, batch, self.layers)
                again = [torch.equal(one.again(self.model), one.output) for one in passed]
                moved = [not torch.equal(one.without_value(self.model, 0), one.output)
                         for one in passed]  # fmt: skip
        except NOT_RUN as no:
            return f"the layers of {kind} cannot be run one by one ({no!s:.80})"
        if not all(again):
            return f"the layers of {kind} give other states when they are run again"
        # Value zeroing that changes nothing would be the same number for every word.
        return "" if any(moved) else f"{kind} does not mind that values are zeroed"

    def is_read(self, batch: PieceBatch) -> Bool[Tensor, "batch positions"]:
        """The positions whose state the classifier reads."""
        if self.reads == "all":
            return batch.is_real
        order = torch.arange(batch.is_real.shape[1], device=batch.is_real.device)
        place = torch.where(batch.is_real, order, -1 if self.reads == "last" else len(order))
        chosen = place.amax(dim=1) if self.reads == "last" else place.amin(dim=1)
        return order == chosen[:, None]

    @contextmanager
    def embedded(
        self, change: Callable[[Tensor], Tensor] | None = None, at: At = "words"
    ) -> Iterator[list[Tensor]]:
        """Embeddings that ask for gradients, changed if wanted; they are in the list afterwards.

        Those of words, or what the first layer is given: with positions, normalised. The vector of
        a word is the same one in an encoder and in the decoder behind it.
        """
        seen: list[Tensor] = []
        encoded: list[Tensor] = []

        def asking(given: Tensor) -> Tensor:
            used = given.detach() if change is None else change(given.detach())
            seen.append(used.requires_grad_())
            return seen[-1]

        def of_output(module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
            # A decoder that classifies reads the text once more, one position later.
            again = self.is_encoder_decoder and bool(encoded)
            if again and torch.equal(output[:, 1:], encoded[0][:, :-1]):
                return torch.cat([output[:, :1], seen[0][:, :-1]], dim=1)
            encoded.append(output)
            return asking(output)

        def of_input(module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
            return (asking(inputs[0]), *inputs[1:])

        embeddings = getattr(self.model.base_model, "embeddings", None)
        blocks = block_lists(self.model, self.layers) if at == "first layer" else []
        with ExitStack() as stack:
            if at == "first layer" and isinstance(embeddings, nn.Module):
                stack.callback(embeddings.register_forward_hook(of_output).remove)
            elif blocks:
                stack.callback(blocks[0][0].register_forward_pre_hook(of_input).remove)
            else:
                for table in self._word_tables():
                    stack.callback(table.register_forward_hook(of_output).remove)
            yield seen

    def _word_tables(self) -> list[nn.Module]:
        """The modules that look words up: one, or one in the encoder and one in the decoder."""
        own = self.model.get_input_embeddings()
        if not self.is_encoder_decoder:
            return [own]
        tables = [m for m in self.model.modules() if isinstance(m, nn.Embedding)]
        return [m for m in tables if m.weight.shape == own.weight.shape]

    def _probe(self, texts: Sequence[str] = PROBE) -> PieceBatch:
        return self.cutter.pad(self.cutter.encode(texts)).to(self.model.device)

    def _find_reads(self) -> Reads:
        """Which positions the classifier reads: those whose last state has a gradient."""
        states: list[Tensor] = []
        batch = self._probe(PROBE[:1])
        base = self.model.base_model
        handle = base.register_forward_hook(lambda *told: states.append(told[2][0]))
        try:
            with torch.enable_grad(), as_it_was(self.model), self.embedded():
                output = self.model(**batch.inputs)
            logits = _logits(output)
            if not states or base is self.model or not states[-1].requires_grad:
                return "first"
            # Of one class: those of all classes together may cancel.
            (slope,) = torch.autograd.grad(logits[:, 0].sum(), states[-1], allow_unused=True)
        finally:
            handle.remove()
        if slope is None or slope.shape[1] != batch.is_real.shape[1]:
            return "all"
        places = slope[0].abs().sum(dim=-1).nonzero().flatten().tolist()
        if places == [0]:
            return "first"
        return "last" if places == [slope.shape[1] - 1] else "all"

    def _find_attention(self) -> tuple[int, int]:
        """How many layers and heads; whether attention can be replaced is found out by trying."""
        batch = self._probe()
        self.why_fixed = self._find_fixed(batch)
        attended, _ = self.attended(batch)
        return len(attended.weights), attended.weights[0].shape[1]

    def _find_fixed(self, batch: PieceBatch) -> str:
        kind = type(self.model).__name__
        if self.is_encoder_decoder:
            return (
                f"{kind} attends in its encoder, in its decoder and from one to the other, so "
                "other weights cannot be tried on one of them alone"
            )
        watch = Watch()
        try:
            with torch.inference_mode(), watching(self.model, watch):
                self.model(**batch.inputs)
        except CannotWatch as refusal:
            return str(refusal)
        if watch.calls:
            return ""
        return f"{kind} ignores attention put in its place, so other weights cannot be tried on it"


def _logits(output: Any) -> Float[Tensor, "batch classes"]:
    logits = getattr(output, "logits", None)
    if logits is None or logits.ndim != 2:
        raise ConfigError(
            "the model should give one row of logits per text. Load it with "
            "AutoModelForSequenceClassification."
        )
    return logits
