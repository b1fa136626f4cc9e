"""Rows -> figures: one function per figure, no computing but the bins and quantiles it draws."""

from heedful.plots.agreeing import agreement, influence
from heedful.plots.analyses import agreement_by_class
from heedful.plots.audit_documents import adversarial_distance, permutation_effect
from heedful.plots.audit_scores import pareto, scores_forest
from heedful.plots.deletion import deletion
from heedful.plots.dots import dot_product_curves, dot_products
from heedful.plots.imbalance import label_imbalance
from heedful.plots.information import information
from heedful.plots.iterations import iterations
from heedful.plots.local_global import local_against_global
from heedful.plots.sentences import sentence_vectors
from heedful.plots.sentiment import word_sentiment
from heedful.plots.style import Figure
from heedful.plots.telling import deletion_curves, keep_curves, measures_ranking
from heedful.plots.training import flow_numbers, flow_scores, flow_terms
from heedful.plots.twins import seed_distance, tvd_jsd_frontier
from heedful.plots.words import word_scatter, word_weights

__all__ = [
    "Figure",
    "adversarial_distance",
    "agreement",
    "agreement_by_class",
    "deletion",
    "deletion_curves",
    "dot_product_curves",
    "dot_products",
    "flow_numbers",
    "flow_scores",
    "flow_terms",
    "influence",
    "information",
    "iterations",
    "keep_curves",
    "label_imbalance",
    "local_against_global",
    "measures_ranking",
    "pareto",
    "permutation_effect",
    "scores_forest",
    "seed_distance",
    "sentence_vectors",
    "tvd_jsd_frontier",
    "word_scatter",
    "word_sentiment",
    "word_weights",
]
