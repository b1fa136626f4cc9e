"""Leave-one-out for LSTMs on a GPU: every later step of all shortened texts in one kernel.

The package does not use this: on an H200 it is right for small models and ends with an illegal
memory access at 128 units (below). `gpu_recurrent.py` tries it.

The loop in `heedful.importance.recurrent` takes one step of all texts at a time, and writes and
reads all their gates for each. Here a program takes a block of texts, those without one of a few
neighbouring words of a few documents, through all their steps; states never leave its registers.

    change_p   = state of the shortened text at place p, less the whole text's
    gates_p    = gates of the whole text at p + W change_(p-1)
    inner_p    = what attention and output see of the whole text at p + V change_p

The whole texts' states and gates are known in fp32 before. Only changes are multiplied here, on
tensor cores, which take fp16: a change and a weight are each the sum of two such numbers, and of
the four products the three that matter are taken (22 bits). Where TF32 is allowed one product is
taken (11 bits); as it is one of changes alone, its error shrinks with them.

Gates come as powers of 2: weights are multiplied by log2(e) and the sign beforehand.
"""

# Seen on an H200 (PyTorch 2.11, Triton 3.6): BiLSTM(16), additive, differs from the steps by 7.4e-7
# (in probabilities) in full and 1.1e-5 rounded; LSTM(50) with skip=concat, dot, by 7.7e-7.
# BiLSTM(128), additive: "an illegal memory access was encountered", which ends all work of the
# process on the GPU, so that no check at run time can guard against it (and the rounded kernel,
# tried behind the one in full in the same process, was not really tried).
#
# The cause is not known. Found without a GPU: in Triton's interpreter every address that is read or
# written with 128 units lies within its tensor, and results are right, so no offset or mask is
# wrong as written. As Triton 3.6 compiles it for sm_90, operands of its wgmma lie within shared
# memory, which fits (229,376 bytes of 232,448). What is special at 128 units: a row of weights is
# wider than the 128 bytes that wgmma takes as a block; threads spill 1,048 bytes in full and 184
# rounded (16 units: 0; 64 units: about 200); shared memory is nearly full. There are reports of
# illegal accesses since Triton 3.6, in kernels with several dots on Hopper (triton-lang/triton,
# issues 10486, 10573 and 11366). Next: each variant in a process of its own under
# compute-sanitizer; `is_kept=False` with 64 rows needs only 65,536 bytes of shared memory.

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from triton.language.extra import libdevice

from heedful.importance.recurrent import pairs_without_each_word
from heedful.model.alignments import AdditiveScores
from heedful.model.recurrence import LSTMSteps
from heedful.model.sight import Sight

Embedded = Float[Tensor, "batch tokens embedding"]
IsToken = Bool[Tensor, "batch tokens"]
Pairs = Float[Tensor, "batch deleted tokens views"]
Gates = Float[Tensor, "ways batch tokens gates"]
States = Float[Tensor, "ways batch tokens units"]

SMALLEST = 16  # units that a program takes; fewer are filled up
LOG2_E = math.log2(math.e)
TWICE = 2 * LOG2_E
# Of the largest number: how near the kernels must come to the plain steps, in full and rounded.
CLOSE = {True: 2e-5, False: 2e-3}
COUNTS = ["batch", "tokens", "ways", "groups", "views"]  # one kernel is compiled for all of them
MINUS_TWICE: tl.constexpr = tl.constexpr(-TWICE)
HIGHEST: tl.constexpr = tl.constexpr(36.0)  # powers of 2: three such numbers multiplied are finite
IS_INTERPRETED: tl.constexpr = tl.constexpr(bool(triton.knobs.runtime.interpret))


@dataclass(frozen=True)
class Blocks:
    """How texts are shared out among programs."""

    rows: int = 128  # shortened texts of a program
    documents: int = 8  # of which they are
    warps: int = 8
    is_kept: bool = True  # whether weights stay near a program, or are fetched for each step
    whole_rows: int = 16  # documents of a program that reads whole texts
    whole_warps: int = 4


USUAL = Blocks()


@triton.jit
@no_type_check
def _ratio(x, y):
    """x / y without care for what is out of range."""
    if IS_INTERPRETED:
        return x / y
    else:
        return libdevice.fast_dividef(x, y)


@triton.jit
@no_type_check
def _one_more(power):
    """1 + 2^power, which stays finite."""
    highest = tl.full(power.shape, HIGHEST, tl.float32)
    return 1.0 + tl.exp2(tl.minimum(power, highest, propagate_nan=tl.PropagateNan.ALL))


@triton.jit
@no_type_check
def _quarters(x):
    """Four parts of the columns, in the order of `_order`; none moves between threads."""
    x = tl.reshape(x, (x.shape[0], x.shape[1] // 16, 2, 4, 2))
    x = tl.permute(x, (0, 1, 3, 2, 4))
    x = tl.reshape(x, (x.shape[0], x.shape[1] * 4, 2, 2))
    even, odd = tl.split(x)
    first, second = tl.split(even)
    third, fourth = tl.split(odd)
    return first, second, third, fourth


@triton.jit
@no_type_check
def _joined(first, second, third, fourth):
    """The inverse of `_quarters`."""
    x = tl.join(tl.join(first, second), tl.join(third, fourth))
    x = tl.reshape(x, (x.shape[0], x.shape[1] // 4, 4, 2, 2))
    x = tl.permute(x, (0, 1, 3, 2, 4))
    return tl.reshape(x, (x.shape[0], x.shape[1] * 16))


@triton.jit
@no_type_check
def _halves(x):
    """A number as the sum of two of half its size."""
    high = x.to(tl.float16)
    return high, (x - high.to(tl.float32)).to(tl.float16)


@triton.jit
@no_type_check
def _tile(matrix, K: tl.constexpr, N: tl.constexpr):
    return tl.load(matrix + tl.arange(0, K)[:, None] * N + tl.arange(0, N)[None, :])


@triton.jit
@no_type_check
def _of_documents(values, is_document, COLUMNS: tl.constexpr, ROWS: tl.constexpr):
    """A row of numbers for each document, given to each of its texts."""
    column = tl.arange(0, COLUMNS)
    x = tl.load(values[:, None] + column[None, :], mask=is_document[:, None], other=0.0)
    x = tl.broadcast_to(x[:, None, :], (x.shape[0], ROWS // x.shape[0], COLUMNS))
    return tl.reshape(x, (ROWS, COLUMNS))


@triton.jit
@no_type_check
def _plus_product(sums, high, low, weight, rest, IS_EXACT: tl.constexpr):
    """The sums plus changes times weights; `rest` points to what fp16 leaves of the weights."""
    sums = tl.dot(high, weight, sums)
    if IS_EXACT:
        sums = tl.dot(low, weight, sums)
        sums = tl.dot(high, _tile(rest, weight.shape[0], weight.shape[1]), sums)
    return sums


@triton.jit
@no_type_check
def _step(powers, memory):
    """Hidden state and memory of some units after one more word; see `_Weights` for `powers`."""
    enter, keep, leave, candidate = _quarters(powers)
    enter, keep, candidate = _one_more(enter), _one_more(keep), _one_more(candidate)
    both = enter * candidate
    memory = _ratio(memory * both + (2.0 - candidate) * keep, both * keep)
    size = _one_more(memory * MINUS_TWICE)
    return _ratio(2.0 - size, size * _one_more(leave)), memory


@triton.jit
@no_type_check
def _changed_quarter(
    QUARTER: tl.constexpr, high, low, memory, old_high, old_low, has_begun, is_document,
    gates, states, weight, from_state, rest, IS_EXACT: tl.constexpr, IS_KEPT: tl.constexpr,
):  # fmt: skip
    """Memory and change of a quarter of the units after one more word, of texts that have begun."""
    ROWS: tl.constexpr = high.shape[0]
    SIZE: tl.constexpr = high.shape[1]
    powers = _of_documents(gates + QUARTER * SIZE, is_document, SIZE, ROWS)
    if not IS_KEPT:
        weight = _tile(from_state + QUARTER * SIZE * SIZE, SIZE, SIZE)
    powers = _plus_product(powers, high, low, weight, rest + QUARTER * SIZE * SIZE, IS_EXACT)
    hidden, new = _step(powers, memory)
    hidden -= _of_documents(states + QUARTER * (SIZE // 4), is_document, SIZE // 4, ROWS)
    new_high, new_low = _halves(hidden)
    begun = has_begun[:, None]
    new = tl.where(begun, new, memory)
    return new, tl.where(begun, new_high, old_high), tl.where(begun, new_low, old_low)


@triton.jit
@no_type_check
def _changed(
    high, low, memory, has_begun, is_document, gates, states, weight_0, weight_1, weight_2,
    weight_3, from_state, rest, IS_EXACT: tl.constexpr, IS_KEPT: tl.constexpr,
):  # fmt: skip
    """The same of all units."""
    memory_0, memory_1, memory_2, memory_3 = _quarters(memory)
    high_0, high_1, high_2, high_3 = _quarters(high)
    low_0, low_1, low_2, low_3 = _quarters(low)
    memory_0, high_0, low_0 = _changed_quarter(
        0, high, low, memory_0, high_0, low_0, has_begun, is_document, gates, states, weight_0,
        from_state, rest, IS_EXACT, IS_KEPT,
    )  # fmt: skip
    memory_1, high_1, low_1 = _changed_quarter(
        1, high, low, memory_1, high_1, low_1, has_begun, is_document, gates, states, weight_1,
        from_state, rest, IS_EXACT, IS_KEPT,
    )  # fmt: skip
    memory_2, high_2, low_2 = _changed_quarter(
        2, high, low, memory_2, high_2, low_2, has_begun, is_document, gates, states, weight_2,
        from_state, rest, IS_EXACT, IS_KEPT,
    )  # fmt: skip
    memory_3, high_3, low_3 = _changed_quarter(
        3, high, low, memory_3, high_3, low_3, has_begun, is_document, gates, states, weight_3,
        from_state, rest, IS_EXACT, IS_KEPT,
    )  # fmt: skip
    memory = _joined(memory_0, memory_1, memory_2, memory_3)
    high = _joined(high_0, high_1, high_2, high_3)
    low = _joined(low_0, low_1, low_2, low_3)
    return high, low, memory


@triton.jit
@no_type_check
def _see(
    high, low, seen, here, is_seen, is_document, of_view, of_direct, view, direct, outer, views,
    rest_of_view, rest_of_direct, INNER: tl.constexpr, DIRECT: tl.constexpr,
    HAS_INNER: tl.constexpr, IS_EXACT: tl.constexpr, IS_KEPT: tl.constexpr,
):  # fmt: skip
    """Writes what attention and output see of changed states."""
    ROWS: tl.constexpr = high.shape[0]
    SIZE: tl.constexpr = high.shape[1]
    if HAS_INNER:
        inner = _of_documents(seen, is_document, INNER, ROWS)
        if IS_EXACT or not IS_KEPT:  # there is no room to keep it near
            of_view = _tile(view, SIZE, INNER)
        inner = _plus_product(inner, high, low, of_view, rest_of_view, IS_EXACT)
        part = _ratio(tl.load(outer + tl.arange(0, INNER))[None, :], 1.0 + tl.exp2(inner))
        tl.store(here, tl.load(outer + INNER) - 2.0 * tl.sum(part, 1), mask=is_seen)
        seen += INNER
    output = _of_documents(seen, is_document, DIRECT, ROWS)
    if IS_EXACT or not IS_KEPT:
        of_direct = _tile(direct, SIZE, DIRECT)
    output = _plus_product(output, high, low, of_direct, rest_of_direct, IS_EXACT)
    column = tl.arange(0, DIRECT)[None, :]
    mask = is_seen[:, None] & (column < views - HAS_INNER)
    tl.store(here[:, None] + HAS_INNER + column, output, mask=mask)


@triton.jit(do_not_specialize=COUNTS)
@no_type_check
def _changes_kernel(
    gates, states, memories, unchanged, from_state, view, direct, outer, order, lengths, pairs,
    batch, tokens, ways, groups, views,
    ROWS: tl.constexpr, DOCUMENTS: tl.constexpr, SIZE: tl.constexpr, INNER: tl.constexpr,
    DIRECT: tl.constexpr, HAS_INNER: tl.constexpr, IS_EXACT: tl.constexpr, IS_KEPT: tl.constexpr,
):  # fmt: skip
    """Views of texts without one of a few neighbouring words of a few documents.

    Rows are texts: document by document, word by word. Programs with early words, which have most
    steps, come first.
    """
    WORDS: tl.constexpr = ROWS // DOCUMENTS
    SEEN: tl.constexpr = INNER * HAS_INNER + DIRECT
    program = tl.program_id(0)
    group = program % groups
    way = (program // groups) % ways
    first = (program // groups // ways) * WORDS
    is_forth = way == 0
    number = group * DOCUMENTS + tl.arange(0, DOCUMENTS)
    is_document = number < batch
    document = tl.load(order + number, mask=is_document, other=0).to(tl.int64)
    length = tl.load(lengths + number, mask=is_document, other=0)
    stop = tl.max(length, 0)
    if first + 1 >= stop:
        return
    cells = way.to(tl.int64) * batch * tokens
    gates += cells * 4 * SIZE
    states += cells * SIZE
    memories += cells * SIZE
    # Each of these matrices is followed by what fp16 leaves of it, for all directions.
    rest_of_state = from_state + (ways + way) * 4 * SIZE * SIZE
    rest_of_view = view + (ways + way) * SIZE * INNER
    rest_of_direct = direct + (ways + way) * SIZE * DIRECT
    from_state += way * 4 * SIZE * SIZE
    view += way * SIZE * INNER
    direct += way * SIZE * DIRECT
    weight_0 = _tile(from_state, SIZE, SIZE)
    weight_1 = _tile(from_state + SIZE * SIZE, SIZE, SIZE)
    weight_2 = _tile(from_state + 2 * SIZE * SIZE, SIZE, SIZE)
    weight_3 = _tile(from_state + 3 * SIZE * SIZE, SIZE, SIZE)
    of_view = _tile(view, SIZE, INNER)
    of_direct = _tile(direct, SIZE, DIRECT)

    row = tl.arange(0, ROWS)
    row_number = group * DOCUMENTS + row // WORDS
    row_length = tl.load(lengths + row_number, mask=row_number < batch, other=0)
    row_document = tl.load(order + row_number, mask=row_number < batch, other=0).to(tl.int64)
    deleted = first + row % WORDS  # counted in the order of reading, as are steps
    is_text = deleted < row_length
    at = row_document * tokens + tl.where(is_forth, deleted, row_length - 1 - deleted)
    k = tl.arange(0, SIZE)  # as `_order`
    unit = ((k // 8) % 2 + k % 2 * 2) * (SIZE // 4) + k // 16 * 4 + (k // 2) % 4
    at_before = tl.where(is_forth, at - 1, at + 1)[:, None] * SIZE + unit[None, :]
    has_before = (is_text & (deleted > 0))[:, None]
    memory = tl.load(memories + at_before, mask=has_before, other=0.0)
    change = tl.load(states + at_before, mask=has_before, other=0.0)
    own = states + at[:, None] * SIZE + unit[None, :]
    high, low = _halves(change - tl.load(own, mask=is_text[:, None], other=0.0))
    row_pairs = pairs + at * tokens * views
    step = first + 1
    while step <= stop:
        # What is seen of the step before: its changes are multiplied here, once for both uses.
        now = tl.where(is_forth, step - 1, tl.maximum(length - step, 0))
        seen = unchanged + (document * tokens + now) * SEEN
        here = row_pairs + tl.where(is_forth, step - 1, row_length - step) * views
        is_seen = is_text & (deleted < step - 1) & (step - 1 < row_length)
        _see(
            high, low, seen, here, is_seen, is_document, of_view, of_direct, view, direct, outer,
            views, rest_of_view, rest_of_direct, INNER, DIRECT, HAS_INNER, IS_EXACT, IS_KEPT,
        )  # fmt: skip
        now = tl.where(is_forth, tl.minimum(step, tokens - 1), tl.maximum(length - 1 - step, 0))
        cell = document * tokens + now
        has_begun = deleted < step
        high, low, memory = _changed(
            high, low, memory, has_begun, is_document, gates + cell * 4 * SIZE,
            states + cell * SIZE, weight_0, weight_1, weight_2, weight_3, from_state,
            rest_of_state, IS_EXACT, IS_KEPT,
        )  # fmt: skip
        step += 1


@triton.jit
@no_type_check
def _whole_quarter(
    QUARTER: tl.constexpr, high, low, memory, products, states, memories, from_state, rest,
    is_inside,
):  # fmt: skip
    """The same of whole texts, whose states and memories are written down."""
    SIZE: tl.constexpr = high.shape[1]
    unit = QUARTER * (SIZE // 4) + tl.arange(0, SIZE // 4)
    column = QUARTER * SIZE + tl.arange(0, SIZE)
    inside = is_inside[:, None]
    powers = tl.load(products[:, None] + column[None, :], mask=inside, other=0.0)
    weight = _tile(from_state + QUARTER * SIZE * SIZE, SIZE, SIZE)
    powers = _plus_product(powers, high, low, weight, rest + QUARTER * SIZE * SIZE, True)
    hidden, memory = _step(powers, memory)
    tl.store(states[:, None] + unit[None, :], hidden, mask=inside)
    tl.store(memories[:, None] + unit[None, :], memory, mask=inside)
    new_high, new_low = _halves(hidden)
    return memory, new_high, new_low


@triton.jit(do_not_specialize=COUNTS)
@no_type_check
def _whole_kernel(
    products, states, memories, from_state, order, lengths, batch, tokens, ways, groups,
    ROWS: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    """States and memories of whole texts at every place. Rows are documents."""
    program = tl.program_id(0)
    way = program // groups
    number = program % groups * ROWS + tl.arange(0, ROWS)
    document = tl.load(order + number, mask=number < batch, other=0).to(tl.int64)
    length = tl.load(lengths + number, mask=number < batch, other=0)
    rest = from_state + (ways + way) * 4 * SIZE * SIZE
    from_state += way * 4 * SIZE * SIZE
    memory_0 = tl.zeros((ROWS, SIZE // 4), tl.float32)
    memory_1, memory_2, memory_3 = memory_0, memory_0, memory_0
    high = tl.zeros((ROWS, SIZE), tl.float16)
    low = high
    longest = tl.max(length, 0)
    step = 0
    while step < longest:
        is_inside = step < length
        now = tl.where(way == 0, step, tl.maximum(length - 1 - step, 0))
        cell = (way.to(tl.int64) * batch + document) * tokens + now
        given = products + cell * 4 * SIZE
        state, kept = states + cell * SIZE, memories + cell * SIZE
        memory_0, high_0, low_0 = _whole_quarter(
            0, high, low, memory_0, given, state, kept, from_state, rest, is_inside
        )
        memory_1, high_1, low_1 = _whole_quarter(
            1, high, low, memory_1, given, state, kept, from_state, rest, is_inside
        )
        memory_2, high_2, low_2 = _whole_quarter(
            2, high, low, memory_2, given, state, kept, from_state, rest, is_inside
        )
        memory_3, high_3, low_3 = _whole_quarter(
            3, high, low, memory_3, given, state, kept, from_state, rest, is_inside
        )
        high = _joined(high_0, high_1, high_2, high_3)
        low = _joined(low_0, low_1, low_2, low_3)
        step += 1


def agrees(layers: Sequence[nn.LSTM], sight: Sight, embedded: Embedded) -> bool:
    """The same numbers step by step, for documents and words that do not fill their blocks."""
    lengths = torch.tensor([20, 17, 1, 20, 2, 9, 16, 18, 19], device=embedded.device)
    is_token = torch.arange(20, device=lengths.device) < lengths.unsqueeze(1)
    words = torch.arange(is_token.numel() * embedded.shape[-1], device=lengths.device).sin()
    example = words.view(*is_token.shape, -1) * is_token.unsqueeze(-1)
    both = is_token.unsqueeze(1) & is_token.unsqueeze(2) & ~torch.eye(20).to(is_token)
    expected = pairs_without_each_word(layers, sight, example, is_token)[both]
    found = pairs_by_kernel(layers, sight, example, is_token)[both]
    error = float((found - expected).abs().max())
    return error <= CLOSE[is_in_full()] * max(1.0, float(expected.abs().max()))


def is_in_full() -> bool:
    """Whether recurrent layers may not be rounded to TF32, as cuDNN does by default."""
    return not torch.backends.cudnn.allow_tf32


def pairs_by_kernel(
    layers: Sequence[nn.LSTM],
    sight: Sight,
    embedded: Embedded,
    is_token: IsToken,
    blocks: Blocks = USUAL,
    is_exact: bool | None = None,
) -> Pairs:
    """As `pairs_without_each_word`, of models in fp32 with at most 128 units and 64 outputs.

    `is_exact` says whether changes and weights are taken in full; None: unless TF32 is allowed.
    """
    is_exact = is_in_full() if is_exact is None else is_exact
    batch, tokens = is_token.shape
    lengths = is_token.sum(dim=1)
    order = lengths.argsort(descending=True)
    documents = order.int(), lengths[order].int()
    weights = _Weights(layers)
    gates, states, memories = _whole_texts(weights, embedded, documents, blocks)
    hidden = states[..., : layers[0].hidden_size].permute(1, 2, 0, 3).flatten(2)
    found = sight.inner(hidden, embedded)
    seen = _Seen(sight, weights)
    pairs = embedded.new_zeros(batch, tokens, tokens, sight.views)
    groups = triton.cdiv(batch, blocks.documents)
    words = blocks.rows // blocks.documents
    _launch(
        _changes_kernel, groups * len(layers) * triton.cdiv(tokens, words), blocks.warps,
        gates, states, memories, seen.filled(found), weights.tiles, seen.view, seen.direct,
        seen.outer, *documents, pairs, batch, tokens, len(layers), groups, sight.views,
        ROWS=blocks.rows, DOCUMENTS=blocks.documents, SIZE=weights.size, INNER=seen.inner,
        DIRECT=seen.outputs, HAS_INNER=seen.has_inner, IS_EXACT=is_exact, IS_KEPT=blocks.is_kept,
    )  # fmt: skip
    if len(layers) == 2:
        return pairs
    place = torch.arange(tokens, device=embedded.device)
    is_behind = (place > place.unsqueeze(1)).unsqueeze(-1)
    return torch.where(is_behind, pairs, sight(found).unsqueeze(1))


class _Weights:
    """What LSTMs multiply inputs and states by, so that their gates come as powers of 2.

    Sigmoids are 1 / (1 + 2^x), candidates 2 / (1 + 2^x) - 1. Rows come in the kernel's order: all
    gates of a quarter of the units, then of the next; units that are not there do nothing.
    """

    def __init__(self, layers: Sequence[nn.LSTM]) -> None:
        self.hidden_size = layers[0].hidden_size
        self.size = _filled_up(self.hidden_size)
        steps = [LSTMSteps(layer) for layer in layers]
        first = steps[0].bias
        gate, within = _order(self.size, first.device)
        quarter = torch.arange(4, device=first.device).unsqueeze(1)
        rows = (gate * self.size + quarter * (self.size // 4) + within).flatten()
        inputs = steps[0].from_input.shape[1]
        columns = [torch.cat([s.from_input, s.bias.unsqueeze(1), s.from_state], 1) for s in steps]
        joined = torch.stack(columns).view(len(layers), 4, self.hidden_size, -1)
        factor = joined.new_full((4, 1, 1), -LOG2_E)
        factor[3] = -TWICE
        missing = self.size - self.hidden_size
        filled = nn.functional.pad(joined * factor, (0, missing, 0, missing))
        filled = filled.flatten(1, 2)[:, rows]
        self.from_input = filled[..., :inputs].transpose(1, 2)
        self.bias = filled[..., inputs]
        self.from_state = filled[..., inputs + 1 :].transpose(1, 2)
        # For each direction and quarter a matrix, states by gates.
        tiles = filled[..., inputs + 1 :].unflatten(1, (4, self.size))
        self.tiles = _halved(_in_order(tiles).transpose(2, 3))

    @property
    def ways(self) -> int:
        """Directions that a text is read in."""
        return len(self.bias)


class _Seen:
    """What attention and output see of a state, filled up to sizes that tensor cores take.

    First columns that go through a tanh, if the alignment has one, then those that do not.
    """

    def __init__(self, sight: Sight, weights: _Weights) -> None:
        self.inner_size = _inner_size(sight)
        self.has_inner = self.inner_size > 0
        self.inner = _filled_up(self.inner_size)
        through, past = sight.weight.tensor_split([self.inner_size])
        self.outputs = _filled_up(len(past))
        self.view = self._by_state(through * TWICE, self.inner, weights)
        self.direct = self._by_state(past, self.outputs, weights)
        self.outer = sight.weight.new_zeros(self.inner + 1)
        if isinstance(sight.alignment, AdditiveScores):
            outer = sight.alignment.outer.weight[0] / sight.alignment.scale
            self.outer[: self.inner_size], self.outer[-1] = outer, outer.sum()

    @staticmethod
    def _by_state(weight: Tensor, columns: int, weights: _Weights) -> Tensor:
        """Of a map of states, what belongs to each direction, states by columns."""
        own = weight[:, : weights.ways * weights.hidden_size]  # embeddings may be joined behind
        by_way = own.unflatten(1, (weights.ways, weights.hidden_size)).transpose(0, 1)
        missing = weights.size - weights.hidden_size
        filled = nn.functional.pad(by_way, (0, missing, 0, columns - len(weight)))
        return _halved(_in_order(filled).transpose(1, 2))

    def filled(
        self, found: Float[Tensor, "batch tokens inner"]
    ) -> Float[Tensor, "batch tokens filled"]:
        """What is seen of whole texts, in the same columns."""
        through, past = found.tensor_split([self.inner_size], dim=-1)
        columns = [nn.functional.pad(past, (0, self.outputs - past.shape[-1]))]
        if self.has_inner:
            missing = self.inner - self.inner_size
            columns.insert(0, nn.functional.pad(through * TWICE, (0, missing)))
        return torch.cat(columns, dim=-1)


def _whole_texts(
    weights: _Weights,
    embedded: Embedded,
    documents: tuple[Int[Tensor, " batch"], Int[Tensor, " batch"]],
    blocks: Blocks,
) -> tuple[Gates, States, States]:
    """Gates, states and memories of whole texts at each place, for each direction."""
    (batch, tokens, _), ways, size = embedded.shape, weights.ways, weights.size
    rows = embedded.flatten(0, 1)
    gates = embedded.new_empty(ways, batch * tokens, 4 * size)
    for way in range(ways):
        torch.addmm(weights.bias[way], rows, weights.from_input[way], out=gates[way])
    states = embedded.new_zeros(ways, batch, tokens, size)
    memories = torch.zeros_like(states)
    groups = triton.cdiv(batch, blocks.whole_rows)
    _launch(
        _whole_kernel, groups * ways, blocks.whole_warps, gates, states, memories, weights.tiles,
        *documents, batch, tokens, ways, groups, ROWS=blocks.whole_rows, SIZE=size,
    )  # fmt: skip
    before = torch.zeros_like(states)
    before[0, :, 1:] = states[0, :, :-1]
    if ways == 2:
        before[1, :, :-1] = states[1, :, 1:]
    gates.baddbmm_(before.flatten(1, 2), weights.from_state)
    return gates.view(ways, batch, tokens, 4 * size), states, memories


def _inner_size(sight: Sight) -> int:
    """How many numbers go through a tanh before they are a score."""
    return sight.inner_size if isinstance(sight.alignment, AdditiveScores) else 0


def _filled_up(size: int) -> int:
    return max(SMALLEST, triton.next_power_of_2(size))


@cache
def _order(size: int, device: torch.device) -> Int[Tensor, "2 size"]:
    """Of each column: the quarter that `_quarters` puts it into, and where it stands there."""
    column = torch.arange(size, device=device)
    return torch.stack([column // 8 % 2 + column % 2 * 2, column // 16 * 4 + column // 2 % 4])


def _in_order(weight: Float[Tensor, "*rows units"]) -> Float[Tensor, "*rows units"]:
    """A map of states whose units come in the order of `_joined`."""
    size = weight.shape[-1]
    quarter, within = _order(size, weight.device)
    return weight[..., quarter * (size // 4) + within]


def _halved(weight: Tensor) -> Tensor:
    """Weights in fp16, and what that leaves of them."""
    high = weight.half()
    return torch.stack([high, (weight - high.float()).half()]).contiguous()


def _launch(kernel: Any, programs: int, warps: int, *arguments: object, **options: object) -> None:
    first = arguments[0]
    assert isinstance(first, Tensor)
    if not first.is_cuda:  # Triton's interpreter
        kernel[(programs,)](*arguments, **options, num_warps=warps)
        return
    with torch.cuda.device(first.device):
        kernel[(programs,)](*arguments, **options, num_warps=warps)
