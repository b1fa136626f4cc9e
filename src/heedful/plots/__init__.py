"""Rows -> figures: one function per figure, no computing but the bins and quantiles it draws."""

from heedful.plots.agreeing import agreement, influence
from heedful.plots.decisive import adversarial_distance, permutation_effect
from heedful.plots.figure import Figure
from heedful.plots.scores import pareto, scores_forest
from heedful.plots.telling import deletion_curves, keep_curves, measures_ranking
from heedful.plots.words import word_scatter, word_weights

__all__ = [
    "Figure",
    "adversarial_distance",
    "agreement",
    "deletion_curves",
    "influence",
    "keep_curves",
    "measures_ranking",
    "pareto",
    "permutation_effect",
    "scores_forest",
    "word_scatter",
    "word_weights",
]
