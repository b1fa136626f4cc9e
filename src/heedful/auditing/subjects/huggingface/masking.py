"""A Transformer that reads whole texts with some words hidden from attention.

Nothing attends to the pieces of a hidden word, and all others keep their positions. A text without
the word has a hole less, but positions that move up; which of the two a model minds is its own.
"""

from collections.abc import Sequence

from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heedful.auditing.subjects.base import Judge, Probabilities, Reading
from heedful.auditing.subjects.huggingface.model import TransformerModel
from heedful.auditing.subjects.huggingface.tokenization import Pieces


class Masking(Judge):
    """A model that cannot attend to the words that are not kept."""

    def __init__(self, model: TransformerModel) -> None:
        self.model = model

    def judged(self, reading: Reading) -> Probabilities:
        """As the reading has them."""
        return reading.probabilities

    def predict_kept(
        self,
        reading: Reading,
        document: Int[ndarray, " variants"],
        is_kept: Bool[ndarray, "variants words"],
    ) -> Float[ndarray, "variants classes"]:
        """Probabilities of the texts with the other words hidden."""
        pieces: Sequence[Pieces] = reading.inner
        hidden = [
            pieces[row].with_hidden(~kept)
            for row, kept in zip(document.tolist(), is_kept, strict=True)
        ]
        return self.model.probabilities_of_pieces(hidden)
