"""Take the top words away: does the decision fall? Keep only them: does it stand?

What the model says of the whole document, and of the document with more and more words erased (or
kept), one step per column -> one number per document. How many words a step takes is the caller's
(`top_k`); a control is the same metric on another order of words.
"""

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heedful.auditing.metrics.base import metric
from heedful.auditing.metrics.rows import PerExample

Probability = Float[ndarray, " examples"]  # of the class predicted from the whole document
ProbabilityBySteps = Float[ndarray, "examples steps"]  # of that same class
Classes = Int[ndarray, " examples"]
ClassesBySteps = Int[ndarray, "examples steps"]


@metric("comprehensiveness", better="higher", bounds=(-1.0, 1.0))
def comprehensiveness(
    probability: Probability, probability_when_erased: ProbabilityBySteps
) -> PerExample:
    """Mean fall in the predicted class's probability as top fractions of the words are erased.

    comprehensiveness = mean over steps of p(prediction | all) - p(prediction | all but top)

    1: erasing them destroys the prediction. 0: the model never needed them.
    Negative: the model grew surer without them. Defined in arXiv:1911.03429, whose steps are the
    top 1, 5, 10, 20 and 50 % of the words.
    """
    return _mean_fall(probability, probability_when_erased)


@metric("sufficiency", better="lower", bounds=(-1.0, 1.0))
def sufficiency(probability: Probability, probability_when_kept: ProbabilityBySteps) -> PerExample:
    """Mean fall in the predicted class's probability when only the top words are kept.

    sufficiency = mean over steps of p(prediction | all) - p(prediction | top)

    0: the top words alone carry the prediction. Near 1: they do not.
    Negative: the model is surer with them alone. Defined in arXiv:1911.03429.
    """
    return _mean_fall(probability, probability_when_kept)


@metric("probability_drop", better="higher", bounds=(-1.0, 1.0))
def probability_drop(
    probability: Probability, probability_when_erased: ProbabilityBySteps
) -> PerExample:
    """Mean fall in the predicted class's probability as the top 1, 2, ... K words are erased.

    Comprehensiveness with steps of single words: the AOPC of papers that measure probability.
    Read like it. The AOPC of those that measure accuracy is `accuracy_drop`.
    """
    return _mean_fall(probability, probability_when_erased)


@metric("accuracy_drop", better="higher", bounds=(-1.0, 1.0))
def accuracy_drop(
    label: Classes, prediction: Classes, prediction_when_erased: ClassesBySteps
) -> PerExample:
    """Fall in accuracy against the gold label as the top words are erased.

    accuracy drop = [prediction = label] - mean over steps of [prediction when erased = label]

    Its mean over documents is in shares of documents; times 100 it is in points. 0: nothing was
    lost. Negative: erasing corrected a mistake. The AOPC of papers that measure accuracy.
    """
    is_right_when_erased = prediction_when_erased == label[:, None]
    return (prediction == label) - is_right_when_erased.mean(axis=-1)


@metric("post_hoc_accuracy_gold", better="higher", bounds=(0.0, 1.0))
def post_hoc_accuracy_gold(label: Classes, prediction_when_kept: ClassesBySteps) -> PerExample:
    """Share of steps at which the top words alone lead to the gold label.

    1: they suffice to be right. Compare with the accuracy on whole documents.
    """
    return (prediction_when_kept == label[:, None]).mean(axis=-1)


@metric("post_hoc_accuracy_own", better="higher", bounds=(0.0, 1.0))
def post_hoc_accuracy_own(prediction: Classes, prediction_when_kept: ClassesBySteps) -> PerExample:
    """Share of steps at which the top words alone lead to the model's own prediction.

    1: they suffice for the decision, right or wrong (the post-hoc accuracy of arXiv:1802.07814).
    """
    return (prediction_when_kept == prediction[:, None]).mean(axis=-1)


@metric("fraction_to_flip", better="lower", bounds=(0.0, 1.0))
def fraction_to_flip(
    is_flipped: Bool[ndarray, "examples steps"], share_erased: Float[ndarray, "examples steps"]
) -> PerExample:
    """Share of the support that is erased, in order, when the decision first flips.

    fraction to flip = smallest share at which it is flipped,  1 if it never is

    Small: the first words in the order carry the decision (arXiv:1906.03731). A decision that never
    flips counts as 1: leaving it out would flatter orders that seldom flip any.
    """
    return np.where(is_flipped, share_erased, 1.0).min(axis=-1, initial=1.0)


def _mean_fall(probability: Probability, probability_by_steps: ProbabilityBySteps) -> PerExample:
    return (probability[:, None] - probability_by_steps).mean(axis=-1)
