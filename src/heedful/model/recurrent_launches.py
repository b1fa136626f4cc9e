"""Leave-one-out for LSTMs on a GPU: one launch takes a step of all shortened texts.

The loop in `heedful.importance.recurrent` does the same with PyTorch's operations, which write all
gates and read them again. Here a program takes some texts and some units: it multiplies the states
before by these units' weights, adds the products of the input, applies the gates, and writes states
and memories. A second kernel finds what attention and output see of the new states.

    whole texts        read before, in one launch; every state and memory is kept, by place
    shortened texts    text without word t begins at t + 1, from the whole text's state before t;
                       only the last state is kept, in two buffers that take turns

A row is a document without one of its words; those that have begun follow each other, document by
document, so that no program has rows that do nothing. Steps count in the order of reading.

Tensor cores multiply fp16. A state and a weight are each the sum of two such numbers, and of the
four products the three that matter are taken (22 bits). Of shortened texts, one product is taken
where TF32 is allowed (11 bits, as TF32 has).
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import torch
import triton
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.interruption import check_interrupted
from heedful.model.alignments import AdditiveScores, DotScores
from heedful.model.classifier import AttentionClassifier
from heedful.model.layers import Recurrent
from heedful.model.outputs import Output
from heedful.model.precision import in_full
from heedful.model.projections import softmax
from heedful.model.recurrence import LSTMSteps
from heedful.model.recurrent_kernels import see_kernel, step_kernel, whole_kernel
from heedful.model.sight import Sight

Embedded = Float[Tensor, "batch tokens embedding"]
IsToken = Bool[Tensor, "batch tokens"]
Pairs = Float[Tensor, "batch deleted tokens views"]
FindPairs = Callable[[Sequence[nn.Module], Sight, Embedded, IsToken], Pairs]

SMALLEST = 16  # columns that tensor cores take; fewer are filled up
MOST_COLUMNS = 128  # that go through a tanh together
MOST_UNITS = 256
MOST_OUTPUTS = 64
LARGEST = 60_000.0  # of a weight: fp16 ends at 65,504
# Of the largest number: how near kernels must come to the loop of steps, in full and rounded.
CLOSE = {True: 2e-5, False: 5e-3}


@dataclass(frozen=True)
class Block:
    """What a program takes at once, and how it is run."""

    rows: int
    columns: int  # units, or numbers that attention and output see
    depth: int = 32  # of a product: units of the states before that are fetched together
    warps: int = 8
    stages: int = 3  # fetched ahead
    registers: int | None = None  # of a thread, at most: the fewer, the more programs run at once

    def within(self, columns: int, depth: int) -> "Block":
        """The same, no larger than a matrix."""
        return replace(self, columns=min(self.columns, columns), depth=min(self.depth, depth))

    @property
    def sizes(self) -> dict[str, int]:
        """As a kernel takes them."""
        return {"ROWS": self.rows, "COLUMNS": self.columns, "DEPTH": self.depth}

    @property
    def options(self) -> dict[str, int | None]:
        """As Triton takes them."""
        return {"num_warps": self.warps, "num_stages": self.stages, "maxnreg": self.registers}


@dataclass(frozen=True)
class Blocks:
    """Of the three ways in which kernels are run."""

    whole: Block = Block(rows=16, columns=128)
    step: Block = Block(rows=128, columns=32, registers=128)
    see: Block = Block(rows=64, columns=128, warps=4, stages=2, registers=168)


USUAL = Blocks()


def can_take(
    layers: Sequence[nn.Module], sight: Sight, embedded: Embedded, loop: FindPairs
) -> bool:
    """Whether kernels take this model: an LSTM in fp32, on a GPU where they find what `loop` finds.

    It may have at most 256 units in each direction, 64 outputs, and weights below 60,000; its
    attention must be additive or dot.
    """
    lstms = [layer for layer in layers if type(layer) is nn.LSTM]
    return (
        embedded.is_cuda
        and embedded.numel() > 0
        and embedded.dtype == sight.weight.dtype == torch.float32
        and not torch.is_autocast_enabled("cuda")
        and len(lstms) == len(layers)
        and isinstance(sight.alignment, AdditiveScores | DotScores)
        and (sizes := _Sizes.of(lstms, sight)).hidden_size <= MOST_UNITS
        and sizes.outputs <= MOST_OUTPUTS
        and _are_small([sight.weight, *(layer.all_weights[0][1] for layer in lstms)])
        and _works_on(embedded.device, sizes, is_in_full(), loop)
    )


def _are_small(weights: Sequence[Tensor]) -> bool:
    """Whether fp16 has numbers as large as these; no if one is not a number."""
    largest = torch.stack([weight.detach().abs().amax() for weight in weights]).amax()
    return float(largest) < LARGEST


def is_in_full() -> bool:
    """Whether recurrent layers may not be rounded to TF32, as cuDNN does by default."""
    return not torch.backends.cudnn.allow_tf32


@dataclass(frozen=True)
class _Sizes:
    """What kernels are compiled for; see `Sight` for its numbers."""

    ways: int
    hidden_size: int
    inner_size: int  # 0: nothing goes through a tanh
    outputs: int

    @classmethod
    def of(cls, layers: Sequence[nn.LSTM], sight: Sight) -> "_Sizes":
        """Of a model."""
        return cls(len(layers), layers[0].hidden_size, _through_tanh(sight), sight.views - 1)


def _through_tanh(sight: Sight) -> int:
    """How many numbers go through a tanh before they are a score."""
    return sight.inner_size if isinstance(sight.alignment, AdditiveScores) else 0


@cache
@in_full()
@torch.no_grad()
def _works_on(device: torch.device, sizes: _Sizes, is_exact: bool, loop: FindPairs) -> bool:
    """Whether kernels of these sizes can be compiled for a device, and find what the loop finds.

    Triton needs a C compiler and a recent GPU. Where either is missing, or an example comes out
    otherwise, the loop does the work.
    """
    example = _an_example(device, sizes)
    lengths = torch.tensor([40, 17, 1, 40, 2, 9, 0, 33, 39], device=device)
    is_token = torch.arange(40, device=device) < lengths.unsqueeze(1)
    embedded = example.embedding(torch.arange(is_token.numel(), device=device).view_as(is_token))
    encoder, sight = example.encoder, Sight(example)
    assert isinstance(encoder, Recurrent)
    layers = [layer for layer in (encoder.forwards, encoder.backwards) if layer is not None]
    others = ~torch.eye(40, dtype=torch.bool, device=device)
    both = is_token.unsqueeze(1) & is_token.unsqueeze(2) & others
    try:
        found = pairs_without_each_word(layers, sight, embedded, is_token, is_exact=is_exact)[both]
        found = found.cpu()  # what fails there is said here
    except Exception:  # noqa: BLE001  (compilers fail in many ways, and nothing is lost)
        return False
    expected = loop(layers, sight, embedded, is_token)[both].cpu()
    return float((found - expected).abs().max()) <= CLOSE[is_exact] * float(expected.abs().max())


def _an_example(device: torch.device, sizes: _Sizes) -> AttentionClassifier:
    """A model of these sizes, the same each time, with an embedding for each place."""
    words, keys = 16, sizes.ways * sizes.hidden_size
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(1)
        encoder = Recurrent(words, sizes.hidden_size, "lstm", sizes.ways)
        alignment = (
            AdditiveScores(keys, None, sizes.inner_size, 1.0)
            if sizes.inner_size
            else DotScores(keys, None, 1.0)
        )
        output = Output(keys, max(2, sizes.outputs), has_bias=True)  # two classes: one output
        embedding = nn.Embedding(9 * 40, words)
    return AttentionClassifier(embedding, encoder, alignment, softmax, output).to(device)


def pairs_without_each_word(
    layers: Sequence[nn.Module],
    sight: Sight,
    embedded: Embedded,
    is_token: IsToken,
    *,
    is_exact: bool | None = None,
    blocks: Blocks = USUAL,
) -> Pairs:
    """As the function of this name in `heedful.importance.recurrent`, of models that `can_take`.

    `is_exact` says whether states and weights are taken in full; None: unless TF32 is allowed.
    """
    is_exact = is_in_full() if is_exact is None else is_exact
    with torch.cuda.device(embedded.device) if embedded.is_cuda else nullcontext():
        lengths, order = is_token.sum(dim=1).sort(descending=True)
        place = torch.arange(is_token.shape[1], device=embedded.device)
        documents = (lengths > place.unsqueeze(1)).sum(dim=1).tolist()  # that have a word there
        texts = _Texts(_Weights(layers), embedded[order], lengths.int())
        texts.read_whole(blocks.whole)
        views = _Views(sight, texts)
        pairs = embedded.new_zeros(*is_token.shape, len(place), sight.views)
        step = texts.steps(blocks.step, is_exact=is_exact)
        see = views.steps(blocks.see, order.int(), pairs, is_exact=is_exact)
        for number, count in enumerate(documents[1:], start=1):
            check_interrupted()
            step(number, count, number * count)
            see(number, count, number * count)
        if len(layers) == 2:
            return pairs
        before = views.of_whole_texts()[order.argsort()].unsqueeze(1)
        return torch.where((place > place.unsqueeze(1)).unsqueeze(-1), pairs, before)


Launch = Callable[[int, int, int], None]
"""Runs a kernel for one step: its number, then of how many documents and rows."""


class _Weights:
    """What LSTMs multiply inputs and states by; units that are filled in stay 0."""

    def __init__(self, layers: Sequence[nn.Module]) -> None:
        steps = [LSTMSteps(layer) for layer in layers if isinstance(layer, nn.LSTM)]
        self.ways, self.units = len(steps), steps[0].hidden_size
        self.size = _filled_up(self.units)
        inputs = steps[0].from_input.shape[1]
        columns = [torch.cat([s.from_input, s.bias.unsqueeze(1), s.from_state], 1) for s in steps]
        by_gate = torch.stack(columns).unflatten(1, (4, self.units))
        missing = self.size - self.units
        joined = nn.functional.pad(by_gate, (0, missing, 0, missing)).flatten(1, 2).transpose(1, 2)
        self.from_input, self.bias, from_state = joined.split([inputs, 1, self.size], dim=1)
        self.from_state = _high_and_low(from_state)


class _Texts:
    """What is known of texts at each step, in the order of their lengths, the longest first.

    Whole texts' numbers lie where their words are, in both directions.
    """

    def __init__(
        self, weights: _Weights, embedded: Embedded, lengths: Int[Tensor, " batch"]
    ) -> None:
        self.weights, self.embedded, self.lengths = weights, embedded, lengths
        self.counts = *embedded.shape[:2], weights.ways
        cells = weights.ways, *embedded.shape[:2]
        self.products = embedded.new_empty(*cells, 4 * weights.size)
        rows = embedded.flatten(0, 1)
        for way, into in enumerate(self.products.flatten(1, 2)):
            torch.addmm(weights.bias[way], rows, weights.from_input[way], out=into)
        self.states = embedded.new_empty(2, 3, *cells, weights.size, dtype=torch.float16)
        self.states[:, 0] = 0.0  # also where there is no word
        self.memories = embedded.new_empty(2, *cells, weights.size)
        tensors = lengths, self.products, weights.from_state, self.states, self.memories
        self.given = *tensors, *self.counts

    def read_whole(self, block: Block) -> None:
        """All steps of whole texts."""
        batch, _, ways = self.counts
        block = block.within(self.weights.size, self.weights.size)
        grid = triton.cdiv(batch, block.rows), ways, 1
        whole_kernel[grid](*self.given, SIZE=self.weights.size, **block.sizes, **block.options)

    def steps(self, block: Block, *, is_exact: bool) -> Launch:
        """One step of shortened texts."""
        constants = {"IS_EXACT": is_exact, "SIZE": self.weights.size}
        block = block.within(self.weights.size, self.weights.size)
        parts = self.weights.size // block.columns
        return _launcher(step_kernel, self.given, constants, block, parts, self.weights.ways)

    def hidden(self) -> Float[Tensor, "ways batch tokens units"]:
        """States of whole texts, zero where there is no word."""
        high, low = self.states[:, 0, ..., : self.weights.units].float()
        return high + low


class _Views:
    """What attention and output see, filled up to sizes that tensor cores take.

    First come columns that go through a tanh, if the alignment has one, then those that do not.
    """

    def __init__(self, sight: Sight, texts: _Texts) -> None:
        self.sight, self.texts = sight, texts
        self.inner_size = _through_tanh(sight)
        self.tile = min(MOST_COLUMNS, _filled_up(self.inner_size))
        self.inner = triton.cdiv(self.inner_size, self.tile) * self.tile
        self.direct = _filled_up(len(sight.weight) - self.inner_size)
        weights = texts.weights
        own = sight.weight[:, : weights.ways * weights.units]  # embeddings may be joined behind
        by_way = own.unflatten(1, (weights.ways, weights.units)).permute(1, 2, 0)
        missing = weights.size - weights.units
        self.weights = _high_and_low(nn.functional.pad(self._filled(by_way), (0, 0, 0, missing)))
        self.outer = sight.weight.new_zeros(max(1, self.inner))
        if isinstance(sight.alignment, AdditiveScores):
            outer = sight.alignment.outer.weight[0] / sight.alignment.scale
            self.outer[: self.inner_size] = outer

    def _filled(self, columns: Float[Tensor, "*rows columns"]) -> Float[Tensor, "*rows filled"]:
        """With zeros behind both kinds of columns."""
        through, past = columns.tensor_split([self.inner_size], dim=-1)
        missing = self.inner - self.inner_size, self.direct - past.shape[-1]
        pieces = zip((through, past), missing, strict=True)
        return torch.cat([nn.functional.pad(piece, (0, more)) for piece, more in pieces], dim=-1)

    def of_whole_texts(self) -> Float[Tensor, "batch tokens views"]:
        """Score and outputs at each place."""
        hidden = self.texts.hidden()
        return self.sight(self.sight.inner(torch.cat([*hidden], dim=-1), self.texts.embedded))

    def _unchanged(self) -> Float[Tensor, "ways batch tokens filled"]:
        """For each direction, what all but its states add, at each place."""
        hidden = self.texts.hidden()
        found = []
        for way in range(len(hidden)):
            others = hidden.clone()
            others[way] = 0.0
            found.append(self.sight.inner(torch.cat([*others], dim=-1), self.texts.embedded))
        return self._filled(torch.stack(found))

    def steps(
        self, block: Block, order: Int[Tensor, " batch"], pairs: Pairs, *, is_exact: bool
    ) -> Launch:
        """Writes what is seen after a step into the pairs, whose documents have this order."""
        texts = self.texts
        given = (
            *(texts.lengths, texts.states, self._unchanged(), self.weights, self.outer),
            *(order, pairs, *texts.counts, pairs.shape[-1]),
        )
        constants = {"IS_EXACT": is_exact, "SIZE": texts.weights.size}
        constants |= {"INNER": self.inner, "DIRECT": self.direct}
        block = block.within(self.tile, texts.weights.size)
        return _launcher(see_kernel, given, constants, block, 1, texts.weights.ways)


def _filled_up(size: int) -> int:
    return max(SMALLEST, triton.next_power_of_2(size))


def _high_and_low(weight: Tensor) -> Tensor:
    """Weights in fp16, and the remainder, in fp16 too."""
    high = weight.half()
    return torch.stack([high, (weight - high.float()).half()])


def _launcher(
    kernel: Any, given: tuple[object, ...], constants: dict[str, int], block: Block, parts: int,
    ways: int,
) -> Launch:  # fmt: skip
    """Launches a kernel with all that stays the same; `parts` programs share a block of rows.

    From the second step on Triton need not ask again what the kernel is compiled for.
    """
    compiled, constants = None, constants | block.sizes
    tensors = given  # kept until all is launched

    def launch(step: int, documents: int, rows: int) -> None:
        nonlocal compiled, given
        grid = triton.cdiv(rows, block.rows) * parts, ways, 1
        if compiled is not None:
            compiled[grid](step, documents, *given, *constants.values())
            return
        compiled = kernel[grid](step, documents, *tensors, **constants, **block.options)
        # An address is launched sooner than a tensor, of which CUDA is asked where it lies.
        given = tuple(one.data_ptr() if isinstance(one, Tensor) else one for one in tensors)

    return launch
