"""Rows of pieces through a pretrained model; in training on a GPU, in bf16 and as CUDA graphs.

A step on a few short texts is too small for a GPU: the processor takes longer to name hundreds of
small pieces of work than the GPU to do them. A CUDA graph names them all at once. It is recorded
for one shape, so rows are made a little wider than needed, to one of a few widths.
"""

import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

Rows = Float[Tensor, "batch room width"]
IsRead = Bool[Tensor, "batch room"]
States = Float[Tensor, "batch room states"]
Layers = tuple[int, ...]  # counted from the embeddings, 0; a single one is the last
Reading = Callable[[Rows, IsRead], States]

# Architectures that compute the same for any numbers in a tensor, and so can be recorded.
RECORDED = ("bert", "camembert", "distilbert", "electra", "roberta", "xlm-roberta")
MOST_PIECES = 4096  # in a batch: with more, the GPU is slower than the processor that it waits for
SEEN_BEFORE = 16  # readings of a shape before it is recorded, which takes as long as about twenty
SPARED_MEMORY = 0.25  # of the GPU's: what is recorded holds memory as long as it is trained


def read_rows(
    inner: nn.Module, layers: Layers, inputs: Rows, is_read: IsRead, is_rounded: bool = False
) -> States:
    """States of some layers end to end; in bf16, where sums stay in fp32, if `is_rounded`."""
    if not is_rounded:
        return _states_of(inner, layers, inputs, is_read)
    # Graphs cannot hold the copies of weights that are otherwise kept for the next use.
    with torch.autocast(inputs.device.type, torch.bfloat16, cache_enabled=False):
        states = _states_of(inner, layers, inputs, is_read)
    return states.to(inputs.dtype)


def _states_of(inner: nn.Module, layers: Layers, inputs: Rows, is_read: IsRead) -> States:
    is_last_only = len(layers) == 1
    read = inner(
        inputs_embeds=inputs, attention_mask=is_read.long(), output_hidden_states=not is_last_only
    )
    if is_last_only:
        return read.last_hidden_state
    return torch.cat([read.hidden_states[layer] for layer in layers], dim=-1)


def room_for(rows: int, needed: int) -> int:
    """The next width that suits a GPU: a multiple of 8, and one of a few if it may be recorded.

    8, 16, 24, ..., 64, 80, 96, 112, 128, 160, ...
    """
    step = 8
    if rows * needed <= MOST_PIECES:
        step = max(step, 2 ** max(0, (needed - 1).bit_length() - 3))
    return -(-needed // step) * step


class Kind(NamedTuple):
    """Readings that one recording can stand for."""

    number: int  # within its step: what it found is needed until the step ends
    rows: int
    room: int
    is_training: bool
    has_gradient: bool
    inputs_learn: bool


class Body(nn.Module):
    """A pretrained model as `torch.cuda.make_graphed_callables` wants it."""

    def __init__(self, inner: nn.Module, layers: Layers, is_rounded: bool) -> None:
        super().__init__()
        self.inner = inner
        self.layers = layers
        self.training = inner.training
        self.is_rounded = is_rounded

    def forward(self, inputs: Rows, is_read: IsRead) -> States:
        """The states."""
        return read_rows(self.inner, self.layers, inputs, is_read, self.is_rounded)


def record(body: Body, inputs: Rows, is_read: IsRead, pool: Any) -> Reading:
    """What the body does with rows of this shape, forth and back, as graphs; chance is left as is.

    Recordings of one `pool` share memory: only one of them may be under way at a time.
    """
    samples = (inputs.detach().clone().requires_grad_(inputs.requires_grad), is_read.clone())
    with torch.random.fork_rng(devices=[inputs.device]):
        try:
            graphed = torch.cuda.make_graphed_callables(
                body, samples, num_warmup_iters=2, allow_unused_input=True, pool=pool
            )
        except RuntimeError:
            # The generator's state counts as being recorded for ever, and every random number and
            # every replay would fail. A copy of it does not.
            generator = torch.cuda.default_generators[inputs.device.index]
            generator.graphsafe_set_state(generator.clone_state())
            raise
    return cast(Reading, graphed)


class StepReader:
    """Reads for the steps of a training; call `begin_step` before each.

    `kind` is the name of the architecture. If `is_rounded`, what learns is read in bf16 from a
    recording, or in a batch of more than `MOST_PIECES`. Any other batch is read in fp32: bf16 adds
    operations for the processor to launch, and takes longer. What is only looked at is, too.
    """

    def __init__(
        self,
        inner: nn.Module,
        layers: Layers,
        kind: str,
        is_rounded: bool,
        *,
        recorder: Callable[[Body, Rows, IsRead, Any], Reading] | None = None,
        new_pool: Callable[[], Any] = torch.cuda.graph_pool_handle,
        has_memory: Callable[[], bool] = lambda: _free_memory() > SPARED_MEMORY,
    ) -> None:
        self.inner = inner
        self.layers = layers
        self.is_rounded = is_rounded
        self.is_recording = kind in RECORDED
        self._record, self._new_pool, self._has_memory = recorder or record, new_pool, has_memory
        self._number = 0
        self._seen: Counter[Kind] = Counter()
        self._recorded: dict[Kind, Reading] = {}
        self._pools: dict[int, Any] = {}

    def begin_step(self) -> None:
        """Nothing that was read before is needed any more."""
        self._number = 0

    def __call__(self, inputs: Rows, is_read: IsRead) -> States:
        """The states."""
        kind = self._kind(inputs)
        self._number += 1
        self._seen[kind] += 1
        if kind not in self._recorded and self._is_worth_it(kind):
            self._try_to_record(kind, inputs, is_read)
        if kind in self._recorded:
            try:
                return self._recorded[kind](inputs, is_read)
            except RuntimeError as error:
                self._stop_recording("replayed", error)
        is_large = kind.rows * kind.room > MOST_PIECES
        rounds = is_large and self._rounds(kind)
        return read_rows(self.inner, self.layers, inputs, is_read, rounds)

    def _kind(self, inputs: Rows) -> Kind:
        rows, room, _ = inputs.shape
        with_gradient = torch.is_grad_enabled()
        return Kind(
            self._number, rows, room, self.inner.training, with_gradient, inputs.requires_grad
        )

    def _rounds(self, kind: Kind) -> bool:
        return self.is_rounded and kind.is_training

    def _is_worth_it(self, kind: Kind) -> bool:
        return (
            self.is_recording
            and self._seen[kind] > SEEN_BEFORE
            and kind.rows * kind.room <= MOST_PIECES
            and not torch.is_inference_mode_enabled()
            and self._can_record_gradients(kind)
            and self._has_memory()
        )

    def _can_record_gradients(self, kind: Kind) -> bool:
        """Whether gradients of parameters can be recorded now.

        PyTorch's `AccumulateGrad` node of a parameter belongs to the stream that first read it, and
        lives as long as anything computed from it. A recording has a stream of its own, for which
        the usual one must not wait. So the first recording with gradients comes before anything
        else in its step, when the last step's loss is gone; later ones use its nodes again.
        """
        learns = kind.has_gradient and any(p.requires_grad for p in self.inner.parameters())
        return not learns or kind.number == 0 or any(k.has_gradient for k in self._recorded)

    def _try_to_record(self, kind: Kind, inputs: Rows, is_read: IsRead) -> None:
        if kind.number not in self._pools:
            self._pools[kind.number] = self._new_pool()
        body = Body(self.inner, self.layers, self._rounds(kind))
        try:
            self._recorded[kind] = self._record(body, inputs, is_read, self._pools[kind.number])
        except RuntimeError as error:
            self._stop_recording("recorded", error)

    def _stop_recording(self, what_failed: str, error: RuntimeError) -> None:
        """From now on everything is read without; recordings share what an error has spoilt."""
        self.is_recording = False
        self._recorded.clear()
        first_line = str(error).partition("\n")[0]
        warnings.warn(
            f"the pretrained model could not be {what_failed} as a CUDA graph ({first_line}): it "
            "is trained without, which takes longer.",
            RuntimeWarning,
            stacklevel=2,
        )


def _free_memory() -> float:
    """The share of the GPU's memory that nobody holds."""
    free, total = torch.cuda.mem_get_info()
    return free / total
