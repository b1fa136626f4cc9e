"""The Triton kernels of leave-one-out for LSTMs; `recurrent_launches` says what they compute."""

from typing import no_type_check

import triton
import triton.language as tl
from triton.language.extra import libdevice

# What changes from launch to launch, or from model to model: one kernel is compiled for all of it.
COUNTS = ["step", "documents", "batch", "tokens", "ways", "views"]
IS_INTERPRETED: tl.constexpr = tl.constexpr(bool(triton.knobs.runtime.interpret))


@triton.jit
@no_type_check
def _one_more(x):
    """1 + e^x, so small that three of them multiplied are finite; NaN stays NaN."""
    x = tl.minimum(x, 25.0, propagate_nan=tl.PropagateNan.ALL)
    if IS_INTERPRETED:
        return 1.0 + tl.exp(x)
    else:
        return 1.0 + libdevice.fast_expf(x)


@triton.jit
@no_type_check
def _ratio(x, y):
    """x / y, without care for numbers that do not come up."""
    if IS_INTERPRETED:
        return x / y
    else:
        return libdevice.fast_dividef(x, y)


@triton.jit
@no_type_check
def _gated(enter, keep, leave, candidate, before):
    """State and memory after the gates: sigmoid x = 1 / (1 + e^-x), tanh x = 2 sigmoid(2 x) - 1.

    Each on one denominator, since a division takes about as long as an exponential.
    """
    enter, keep, candidate = _one_more(-enter), _one_more(-keep), _one_more(-2.0 * candidate)
    both = enter * candidate
    memory = _ratio(before * both + (2.0 - candidate) * keep, both * keep)
    size = _one_more(-2.0 * memory)
    return _ratio(2.0 - size, size * _one_more(-leave)), memory


@triton.jit
@no_type_check
def _plus_product(sums, high, low, weight, to_rest, IS_EXACT: tl.constexpr):
    """The sums plus states times weights; `to_rest` leads to what fp16 leaves of the weights."""
    near = tl.load(weight)
    sums = tl.dot(high, near, sums)
    if IS_EXACT:
        sums = tl.dot(low, near, sums)
        sums = tl.dot(high, tl.load(weight + to_rest), sums)
    return sums


@triton.jit
@no_type_check
def _states(source, to_rest, is_row, IS_EXACT: tl.constexpr):
    """A piece of the rows' states, and what fp16 leaves of it."""
    high = tl.load(source, mask=is_row, other=0.0)
    low = high
    if IS_EXACT:
        low = tl.load(source + to_rest, mask=is_row, other=0.0)
    return high, low


@triton.jit
@no_type_check
def _located(row, step, documents, lengths, batch, tokens, way):
    """Of each row: whether it is one, the number of its document, its word, length, and cells.

    A cell is a place of a document in one direction. The first is that of the document's first
    word, the second the one that is read in this step.
    """
    number = row // step
    is_row = number < documents
    length = tl.load(lengths + number, mask=is_row, other=1)
    first = (way.to(tl.int64) * batch + number) * tokens
    here = first + tl.where(way == 0, step, length - 1 - step)
    return is_row, number, row % step, length, first, here


@triton.jit
@no_type_check
def _read_word(
    here, source, target, old, new, is_read, is_row, left, products, weights, states, memories,
    to_rest, to_low, IS_EXACT: tl.constexpr, SIZE: tl.constexpr, COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
):  # fmt: skip
    """Some units' states and memories of some rows after the word in the cells `here`.

    States go from cells to cells, `source` to `target`, memories from `old` to `new`. Rows that
    are not read begin with zeros. One product serves all gates: tensor cores like wide matrices,
    and the waits for what is fetched are fewer.
    """
    is_read, is_written = is_read[:, None], is_row[:, None]
    unit = left + tl.arange(0, COLUMNS)
    gate = tl.arange(0, 4 * COLUMNS) // COLUMNS
    column = gate * SIZE + left + tl.arange(0, 4 * COLUMNS) % COLUMNS
    given = products + here[:, None] * 4 * SIZE + column[None, :]
    sums = tl.load(given, mask=is_written, other=0.0)
    # Fetched early, it takes the layout of the sums; later, they would all take its layout.
    before = tl.load(memories + old[:, None] * SIZE + unit[None, :], mask=is_read, other=0.0)
    for start in range(0, SIZE, DEPTH):
        k = start + tl.arange(0, DEPTH)
        piece = states + source[:, None] * SIZE + k[None, :]
        high, low = _states(piece, to_low, is_read, IS_EXACT)
        weight = weights + k[:, None] * 4 * SIZE + column[None, :]
        sums = _plus_product(sums, high, low, weight, to_rest, IS_EXACT)
    # A thread holds the same units of all gates, so that this moves nothing.
    by_gate = tl.permute(tl.reshape(sums, (sums.shape[0], 2, 2, COLUMNS)), (0, 3, 1, 2))
    even, odd = tl.split(by_gate)
    enter, leave = tl.split(even)
    keep, candidate = tl.split(odd)

    state, memory = _gated(enter, keep, leave, candidate, before)
    tl.store(memories + new[:, None] * SIZE + unit[None, :], memory, mask=is_written)
    high = state.to(tl.float16)
    into = states + target[:, None] * SIZE + unit[None, :]
    tl.store(into, high, mask=is_written)
    if IS_EXACT:
        low = (state - high.to(tl.float32)).to(tl.float16)
        tl.store(into + to_low, low, mask=is_written)


@triton.jit(do_not_specialize=COUNTS)
@no_type_check
def whole_kernel(
    lengths, products, weights, states, memories, batch, tokens, ways,
    SIZE: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """States and memories of some whole texts after each of their words, in full.

    A program takes all steps, one after the other, since no other program needs or writes its rows.
    """
    way = tl.program_id(1)
    number = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    length = tl.load(lengths + number, mask=number < batch, other=0)
    cells = ways.to(tl.int64) * batch * tokens
    first = (way.to(tl.int64) * batch + number) * tokens
    weights += way * 4 * SIZE * SIZE
    longest = tl.max(length, 0)
    step = 0
    while step < longest:
        is_row = step < length
        is_read = is_row & (step > 0)
        here = first + tl.where(way == 0, step, length - 1 - step)
        before = here - (1 - 2 * way)
        for left in range(0, SIZE, COLUMNS):
            _read_word(
                here, before, here, before, here, is_read, is_row, left, products, weights,
                states, memories, ways * 4 * SIZE * SIZE, 3 * cells * SIZE, True, SIZE, COLUMNS,
                DEPTH,
            )  # fmt: skip
        tl.debug_barrier()  # the next step reads what this one has written
        step += 1


@triton.jit(do_not_specialize=COUNTS)
@no_type_check
def step_kernel(
    step, documents, lengths, products, weights, states, memories, batch, tokens, ways,
    IS_EXACT: tl.constexpr, SIZE: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
):  # fmt: skip
    """States and memories of some shortened texts and units after one more word.

    States lie in three parts: those of whole texts at every place, and two buffers of those of
    shortened texts. Memories have one buffer, since each is read and written by one program.
    """
    PARTS: tl.constexpr = SIZE // COLUMNS
    way = tl.program_id(1)
    row = tl.program_id(0) // PARTS * ROWS + tl.arange(0, ROWS)
    left = tl.program_id(0) % PARTS * COLUMNS
    cells = ways.to(tl.int64) * batch * tokens
    is_row, _, word, _, first, here = _located(row, step, documents, lengths, batch, tokens, way)
    # The first word that is read follows the whole text's state before the deleted one.
    begins = word == step - 1
    start = here - 2 * (1 - 2 * way)
    own = cells + first + word
    source = tl.where(begins, start, own + (step - 1) % 2 * cells)
    _read_word(
        here, source, own + step % 2 * cells, tl.where(begins, start, own), own,
        is_row & (step > 1), is_row, left, products, weights + way * 4 * SIZE * SIZE, states,
        memories, ways * 4 * SIZE * SIZE, 3 * cells * SIZE, IS_EXACT, SIZE, COLUMNS, DEPTH,
    )  # fmt: skip


@triton.jit(do_not_specialize=COUNTS)
@no_type_check
def see_kernel(
    step, documents, lengths, states, unchanged, weights, outer, order, pairs, batch, tokens, ways,
    views, IS_EXACT: tl.constexpr, SIZE: tl.constexpr, INNER: tl.constexpr, DIRECT: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """What attention and output see of some shortened texts' states after a step.

    INNER numbers go through a tanh and are summed up as the score; DIRECT ones are left alone.
    """
    WIDTH: tl.constexpr = INNER + DIRECT
    way = tl.program_id(1)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cells = ways.to(tl.int64) * batch * tokens
    is_row, number, word, length, first, here = _located(
        row, step, documents, lengths, batch, tokens, way
    )
    is_seen = is_row[:, None]
    source = states + ((1 + step % 2) * cells + first + word)[:, None] * SIZE
    seen = unchanged + here[:, None] * WIDTH
    weights += way * SIZE * WIDTH
    to_rest, to_low = ways * SIZE * WIDTH, 3 * cells * SIZE
    document = tl.load(order + number, mask=is_row, other=0).to(tl.int64)
    deleted = tl.where(way == 0, word, length - 1 - word)
    place = tl.where(way == 0, step, length - 1 - step)
    into = pairs + ((document * tokens + deleted) * tokens + place) * views

    last = tl.arange(0, DIRECT)
    past = INNER + last[None, :]
    given = tl.load(seen + past, mask=is_seen, other=0.0)
    direct = given
    if INNER == 0:
        for start in range(0, SIZE, DEPTH):
            k = start + tl.arange(0, DEPTH)
            high, low = _states(source + k[None, :], to_low, is_seen, IS_EXACT)
            weight = weights + k[:, None] * WIDTH
            direct = _plus_product(direct, high, low, weight + past, to_rest, IS_EXACT)
    else:
        score = tl.zeros((ROWS,), tl.float32)
        for left in range(0, INNER, COLUMNS):
            column = left + tl.arange(0, COLUMNS)[None, :]
            direct = given  # the same for each tile, beside which it costs little
            factor = tl.load(outer + column)  # early, for the same reason as `before` above
            inner = tl.load(seen + column, mask=is_seen, other=0.0)
            for start in range(0, SIZE, DEPTH):
                k = start + tl.arange(0, DEPTH)
                high, low = _states(source + k[None, :], to_low, is_seen, IS_EXACT)
                weight = weights + k[:, None] * WIDTH
                direct = _plus_product(direct, high, low, weight + past, to_rest, IS_EXACT)
                inner = _plus_product(inner, high, low, weight + column, to_rest, IS_EXACT)
            curved = _ratio(2.0, _one_more(-2.0 * inner)) - 1.0
            score += tl.sum(factor * curved, 1)
        tl.store(into, score, mask=is_row)
        into += 1
        views -= 1
    tl.store(into[:, None] + last[None, :], direct, mask=is_seen & (last < views)[None, :])
