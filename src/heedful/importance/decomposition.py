"""What each word gives to the logit in a model of which all but the words is held."""

from heedful.importance.base import importances
from heedful.importance.gradients import by_embeddings, product
from heedful.importance.seen import Need, Seen, TokenScores, of_target


@importances.register("decomposition", needs=[Need.HELD_LAYERS])
def decomposition(seen: Seen) -> TokenScores:
    """What a word gives to the target logit, everything that is not linear held fixed.

    importance_t = < d logit_target / d x_t , x_t >,  x: the output of the embedding layer;
    attention weights, deviations of normalisation and act(z) / z constant

    Together with special positions and biases they sum to the logit; biases are nobody's here
    (DecompX, arXiv:2306.02873, shares them out). For Transformers: one pass there and back.
    """
    return by_embeddings(seen, of_target, product, held="layers")
