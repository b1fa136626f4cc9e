"""Rows -> figures: one function per figure, no computing but the bins and quantiles it draws."""

from heedful.plots.analyses import agreement_by_class, deletion, information, sentence_vectors
from heedful.plots.audit_documents import (
    adversarial_distance,
    agreement,
    influence,
    permutation_effect,
    seed_distance,
)
from heedful.plots.audit_scores import (
    deletion_curves,
    keep_curves,
    measures_ranking,
    pareto,
    scores_forest,
    tvd_jsd_frontier,
)
from heedful.plots.shortcuts import arm_accuracies, mask_by_label
from heedful.plots.style import Figure, picture
from heedful.plots.training import (
    dot_product_curves,
    flow_numbers,
    flow_scores,
    flow_terms,
    iterations,
    label_imbalance,
)
from heedful.plots.words import (
    dot_products,
    local_against_global,
    weight_boxes,
    word_scatter,
    word_sentiment,
    word_weights,
)

__all__ = [
    "Figure",
    "adversarial_distance",
    "agreement",
    "agreement_by_class",
    "arm_accuracies",
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
    "mask_by_label",
    "measures_ranking",
    "pareto",
    "permutation_effect",
    "picture",
    "scores_forest",
    "seed_distance",
    "sentence_vectors",
    "tvd_jsd_frontier",
    "weight_boxes",
    "word_scatter",
    "word_sentiment",
    "word_weights",
]
