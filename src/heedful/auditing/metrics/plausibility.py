"""Does the importance lie where people point, or where evidence was planted?

Importance per word and marked words per document -> one number per document. NaN where no word is
marked: there is nothing to point at. Definitions of ERASER, arXiv:1911.03429.
"""

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from heedful.auditing.metrics.base import metric
from heedful.auditing.metrics.rows import (
    IsToken,
    PerExample,
    Rows,
    divide,
    has_nan,
    in_row_chunks,
    nan_where,
)
from heedful.auditing.metrics.top import chance_in_top

IsMarked = Bool[ndarray, "examples tokens"]  # a rationale's words, or planted ones
PerDocumentK = Int[ndarray, " examples"]


@metric("precision_at_k", better="higher", bounds=(0.0, 1.0))
@in_row_chunks
def precision_at_k(
    importance: Rows, is_marked: IsMarked, is_token: IsToken, k: PerDocumentK
) -> PerExample:
    """Share of the k most important words that are marked.

    1: nothing but marked words on top. marked / tokens: what chance gives. Ties at the edge of the
    top count by their chance of being in it, here and in recall and F1.
    """
    chosen, _, hits = _choices(importance, is_marked, is_token, k)
    return divide(hits, chosen)


@metric("recall_at_k", better="higher", bounds=(0.0, 1.0))
@in_row_chunks
def recall_at_k(
    importance: Rows, is_marked: IsMarked, is_token: IsToken, k: PerDocumentK
) -> PerExample:
    """Share of the marked words that are among the k most important."""
    _, marked, hits = _choices(importance, is_marked, is_token, k)
    return divide(hits, marked)


@metric("f1_at_k", better="higher", bounds=(0.0, 1.0))
@in_row_chunks
def f1_at_k(
    importance: Rows, is_marked: IsMarked, is_token: IsToken, k: PerDocumentK
) -> PerExample:
    """Token F1: harmonic mean of precision and recall of the k most important words.

    F1 = 2 hits / (k + marked)

    Averaged over documents it is ERASER's token F1.
    """
    chosen, marked, hits = _choices(importance, is_marked, is_token, k)
    return divide(2 * hits, chosen + marked)


@metric("auprc", better="higher", bounds=(0.0, 1.0))
@in_row_chunks
def auprc(importance: Rows, is_marked: IsMarked, is_token: IsToken) -> PerExample:
    """Area under the precision-recall curve of a document's words, over all k at once.

    area = sum over distinct values, highest first, of (gain in recall) * (mean of the precisions
    before and after),  from recall 0, precision 1

    1: all marked words above all others. About marked / tokens: what chance gives. NaN unless some
    words are marked and some are not. Trapezoids, as ERASER's code takes them.
    """
    width = importance.shape[1]
    order = np.argsort(np.where(is_token, -importance, np.nan), axis=-1)  # NaN sorts last
    values = np.take_along_axis(importance, order, axis=-1)
    is_token_in_order = np.take_along_axis(is_token, order, axis=-1)
    hits = np.take_along_axis(is_marked & is_token, order, axis=-1).cumsum(axis=-1)
    marked = hits[:, -1:] if width else np.zeros((len(hits), 1), dtype=np.int64)

    # Tied words enter together, so the curve has a point only where a value's last word stands.
    is_last = is_token_in_order.copy()
    is_last[:, :-1] &= (values[:, 1:] != values[:, :-1]) | ~is_token_in_order[:, 1:]
    count = np.arange(1, width + 1)
    last_count = np.maximum.accumulate(np.where(is_last, count, 0), axis=-1)
    hits = np.where(last_count > 0, np.take_along_axis(hits, np.maximum(last_count - 1, 0), 1), 0)
    precision = np.where(last_count > 0, hits / np.maximum(last_count, 1), 1.0)
    recall = divide(hits, marked)

    before = np.ones((len(hits), 1))
    mean_precision = (precision + np.concatenate([before, precision[:, :-1]], axis=-1)) / 2
    area = (np.diff(recall, axis=-1, prepend=0.0) * mean_precision).sum(axis=-1)
    has_one_kind = (marked[:, 0] == 0) | (marked[:, 0] == is_token.sum(axis=-1))
    return nan_where(has_one_kind | has_nan(importance, is_token), np.clip(area, 0, 1))


@metric("iou_precision", better="higher", bounds=(0.0, 1.0))
@in_row_chunks
def iou_precision(
    is_chosen: IsMarked, is_marked: IsMarked, is_token: IsToken, threshold: float = 0.5
) -> PerExample:
    """Share of the chosen spans that match a marked span.

    A span is an unbroken run of words; two match if words in both / words in either >= threshold.
    Choose words with `choose_top`. ERASER's IOU-F1 is the F1 of this metric's mean and of
    `iou_recall`'s: see `bootstrap.f1_of_means`. NaN without chosen or without marked words.
    """
    matches, chosen, marked = _span_matches(is_chosen & is_token, is_marked & is_token, threshold)
    return nan_where(marked == 0, divide(matches, chosen))


@metric("iou_recall", better="higher", bounds=(0.0, 1.0))
@in_row_chunks
def iou_recall(
    is_chosen: IsMarked, is_marked: IsMarked, is_token: IsToken, threshold: float = 0.5
) -> PerExample:
    """Share of the marked spans that a chosen span matches; spans as in `iou_precision`."""
    matches, chosen, marked = _span_matches(is_chosen & is_token, is_marked & is_token, threshold)
    return nan_where(chosen == 0, divide(matches, marked))


def _choices(
    importance: Rows, is_marked: IsMarked, is_token: IsToken, k: PerDocumentK
) -> tuple[PerExample, PerExample, PerExample]:
    """Per document: words chosen (k, or all there are), words marked, words both."""
    chance = chance_in_top(importance, is_token, k)
    marked = (is_marked & is_token).sum(axis=-1).astype(np.float64)
    is_unasked = (marked == 0) | has_nan(importance, is_token)
    chosen = nan_where(is_unasked, np.minimum(k, is_token.sum(axis=-1)).astype(np.float64))
    hits = (chance * is_marked).sum(axis=-1)
    # Adding shares of tied words may end a rounding error above what there is.
    return chosen, nan_where(is_unasked, marked), np.minimum(hits, np.minimum(chosen, marked))


def _span_matches(
    is_chosen: IsMarked, is_marked: IsMarked, threshold: float
) -> tuple[Int[ndarray, " examples"], Int[ndarray, " examples"], Int[ndarray, " examples"]]:
    """Per document: matched chosen spans, chosen spans, marked spans."""
    examples = len(is_chosen)
    chosen_span, chosen_row, chosen_length = _spans(is_chosen)
    marked_span, marked_row, marked_length = _spans(is_marked)

    # Only pairs of spans that share a word can match; a shared word names its pair.
    is_shared = is_chosen & is_marked
    pair = chosen_span[is_shared] * max(1, len(marked_row)) + marked_span[is_shared]
    pairs, in_both = np.unique(pair, return_counts=True)
    of_chosen, of_marked = np.divmod(pairs, max(1, len(marked_row)))
    in_either = chosen_length[of_chosen] + marked_length[of_marked] - in_both
    matched = np.unique(of_chosen[in_both >= threshold * in_either])
    return (
        np.bincount(chosen_row[matched], minlength=examples),
        np.bincount(chosen_row, minlength=examples),
        np.bincount(marked_row, minlength=examples),
    )


def _spans(
    is_inside: IsMarked,
) -> tuple[Int[ndarray, "examples tokens"], Int[ndarray, " spans"], Int[ndarray, " spans"]]:
    """Runs of True, numbered over all rows: each cell's run (-1 before the first), each run's row
    and length."""
    is_start = is_inside.copy()
    is_start[:, 1:] &= ~is_inside[:, :-1]
    span = is_start.cumsum().reshape(is_inside.shape) - 1
    row = np.flatnonzero(is_start) // max(1, is_inside.shape[1])
    return span, row, np.bincount(span[is_inside], minlength=len(row))
