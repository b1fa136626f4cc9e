"""Numbers of a whole corpus, taken apart into one term per document.

Mutual information and the area under a ROC curve belong to a corpus, not to a document. Here each
becomes a column whose mean over documents is exactly the number, and whose resampled means vary, to
first order, as the number itself would: so intervals and scores are made as for everything else.
"""

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from scipy.stats import rankdata

PerWord = Float[ndarray, " words"]
DocumentOf = Int[ndarray, " words"]
PerDocument = Float[ndarray, " documents"]


def ratio_terms(sums: PerDocument, counts: PerDocument) -> PerDocument:
    """Terms of sum of `sums` / sum of `counts`: the ratio, plus each document's part in its change.

    term_d = R + (sum_d - R count_d) / mean count
    """
    total = counts.sum()
    ratio = sums.sum() / total if total else np.nan
    return ratio + (sums - ratio * counts) * len(counts) / max(total, 1e-300)


def auc_terms(
    values: PerWord,
    is_positive: Bool[ndarray, " words"],
    document: DocumentOf,
    documents: int,
) -> PerDocument:
    """Terms of the chance that a positive word has a higher value than a negative one, ties half.

    0.5: values tell nothing. 1: every positive word above every negative one. A word's part is its
    placement, the share of words of the other kind below it (DeLong's components).
    """
    positive, negative = int(is_positive.sum()), int((~is_positive).sum())
    if not positive or not negative:
        return np.full(documents, np.nan)
    above = rankdata(values) - np.where(
        is_positive, _ranks_within(values, is_positive), _ranks_within(values, ~is_positive)
    )
    placement = np.where(is_positive, above / negative, 1 - above / positive)
    area = float(placement[is_positive].mean())
    terms = np.full(documents, area)
    for kind, size in ((is_positive, positive), (~is_positive, negative)):
        parts = np.bincount(document[kind], placement[kind] - area, minlength=documents)
        terms += parts * documents / size
    return terms


def _ranks_within(values: PerWord, is_kind: Bool[ndarray, " words"]) -> PerWord:
    ranks = np.zeros(len(values))
    ranks[is_kind] = rankdata(values[is_kind])
    return ranks


def information_terms(
    first: Int[ndarray, " words"],
    second: Int[ndarray, " words"],
    document: DocumentOf,
    documents: int,
    *,
    in_nats: bool = False,
    miller_madow: bool = False,
) -> PerDocument:
    """Terms of the mutual information of two labellings, as a share of the first's entropy.

    I / H = sum p(a, b) log (p(a, b) / p(a) p(b)) / - sum p(a) log p(a)

    1: the second labelling tells the first. With `in_nats`, I alone. Counts are plugged in, which
    flatters small samples: compare with a control on the same words. `miller_madow` takes off what
    chance is expected to add, to first order: H grows by (values - 1) / 2 words, I changes by
    (values of a + values of b - pairs - 1) / 2 words, which overshoots where most pairs are rare.
    """
    rows, a = np.unique(first, return_inverse=True)
    columns, b = np.unique(second, return_inverse=True)
    pairs, pair = np.unique(a * max(1, len(columns)) + b, return_inverse=True)
    together, of_a, of_b = (
        np.bincount(place, minlength=count)[place]
        for place, count in ((pair, len(pairs)), (a, len(rows)), (b, len(columns)))
    )
    words = max(1, len(a))
    information = np.log(together * words / (of_a * of_b))
    surprise = np.log(words / of_a)
    if miller_madow:
        information = information + (len(rows) + len(columns) - len(pairs) - 1) / (2 * words)
        surprise = surprise + (len(rows) - 1) / (2 * words)
    sums = np.bincount(document, information, minlength=documents)
    entropy = surprise.mean() if len(surprise) else 0.0
    counts = np.bincount(document, minlength=documents).astype(np.float64)
    return ratio_terms(sums, counts if in_nats else counts * entropy)
