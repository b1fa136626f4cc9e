"""Gradient flow of word scores (Sun & Lu 2020): why polar words come to be attended to.

    polarity score of a word    s_e = W · state of the word alone       (one number per output)
    attention score of a word   a_e = V · state of the word alone / scale

If all parameters move against the gradient of the mean loss over m documents, the scores change at
rates that fall apart into terms. Two sums over the occurrences j of a word in documents t carry all
that the documents say:

    pi(e)  = sum g_t weight_j               drive     how much its label is still to be learnt
    rho(e) = sum weight_j g_t · (s_e - s_t) contrast  how much better than its documents it says so

with g_t = - d loss_t / d s_t: y (1 - sigmoid(y s_t)) for two labels, onehot - probabilities
otherwise. Everything is a product of matrices over the vocabulary, never over pairs of words.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

PerWord = Float[Tensor, " vocabulary"]
PerWordAndOutput = Float[Tensor, "vocabulary outputs"]
Vectors = Float[Tensor, "vocabulary embedding"]
OutputRows = Float[Tensor, "outputs hidden"]


@dataclass(frozen=True)
class Pulls:
    """What the documents ask of each word, as means over documents (1/m is in them)."""

    drive: PerWordAndOutput  # pi(e) / m
    contrast: PerWord  # rho(e) / m


@dataclass(frozen=True)
class Terms:
    """Rates of change by term. They add up to d s_e / d tau and d a_e / d tau.

    A  through V · W and the contrast     D  through V · W and the drive
    B  through |W|² and the drive         E  through |V|² and the contrast
    C  through words it resembles         F  through words it resembles

    Names that end in `_map` are of a learned map between embedding and score (affine, additive).
    """

    polarity: dict[str, PerWordAndOutput]
    attention: dict[str, PerWord]

    @property
    def polarity_change(self) -> PerWordAndOutput:
        """d s_e / d tau: A + B + C."""
        return torch.stack(list(self.polarity.values())).sum(dim=0)

    @property
    def attention_change(self) -> PerWord:
        """d a_e / d tau: D + E + F."""
        return torch.stack(list(self.attention.values())).sum(dim=0)


def gather_pulls(
    token_ids: Int[Tensor, "batch tokens"],
    weights: Float[Tensor, "batch tokens"],
    polarity: Float[Tensor, "batch tokens outputs"],
    error: Float[Tensor, "batch outputs"],
    vocabulary: int,
) -> Pulls:
    """Sums over the occurrences of each word in some documents, not yet divided by m.

    `polarity` is s_j of every token, `error` is g_t; padding has weight 0.
    """
    of_document = (weights.unsqueeze(-1) * polarity).sum(dim=1, keepdim=True)
    above = ((polarity - of_document) * error.unsqueeze(1)).sum(dim=-1)
    flat = token_ids.flatten()
    drive = error.new_zeros(vocabulary, error.shape[1]).index_add_(
        0, flat, (weights.unsqueeze(-1) * error.unsqueeze(1)).flatten(0, 1)
    )
    contrast = error.new_zeros(vocabulary).index_add_(0, flat, (weights * above).flatten())
    return Pulls(drive, contrast)


def dot_terms(
    embeddings: Vectors,
    output: Float[Tensor, "outputs embedding"],
    query: Float[Tensor, " embedding"],
    scale: float,
    pulls: Pulls,
) -> Terms:
    """Dot-product attention on embeddings: exact.

    A = (W · V / scale) rho / m      D = (V · W / scale) pi / m
    B = W W' pi / m                  E = (|V|² / scale²) rho / m
    C = e · sum_j g weight e_j / m   F = e · sum_j g weight (s_j - s_t) e_j / (m scale²)
    """
    across = output @ query / scale
    return Terms(
        polarity={
            "A": pulls.contrast.unsqueeze(-1) * across,
            "B": pulls.drive @ (output @ output.T),
            "C": _through(embeddings, pulls.drive),
        },
        attention={
            "D": pulls.drive @ across,
            "E": pulls.contrast * query.dot(query) / scale**2,
            "F": _through(embeddings, pulls.contrast.unsqueeze(-1)).squeeze(-1) / scale**2,
        },
    )


def affine_terms(
    embeddings: Vectors,
    map_weight: Float[Tensor, "hidden embedding"],
    map_bias: Float[Tensor, " hidden"],
    output: OutputRows,
    query: Float[Tensor, " hidden"],
    scale: float,
    pulls: Pulls,
) -> Terms:
    """Dot-product attention on an affine map of embeddings, which learns too: exact, five terms.

    With W° = M' W, V° = M' V, h_e = M e + c:
    A = (W° · V° / scale) rho / m    A_map = (W · V / scale) sum_j rho_j (e · e_j + 1) / m
    B = W° W°' pi / m                B_map = W W' sum_j pi_j (e · e_j + 1) / m
    C = h_e · sum_j pi_j h_j / m
    and D, D_map, E, E_map, F alike with V in the place of W. The + 1 is the bias c learning.
    """
    states = embeddings @ map_weight.T + map_bias
    seen_output, seen_query = output @ map_weight, query @ map_weight
    across, seen_across = output @ query / scale, seen_output @ seen_query / scale
    contrast = pulls.contrast.unsqueeze(-1)
    drive_near = _through(embeddings, pulls.drive) + pulls.drive.sum(dim=0)
    contrast_near = _through(embeddings, contrast) + contrast.sum(dim=0)
    return Terms(
        polarity={
            "A": contrast * seen_across,
            "A_map": contrast_near * across,
            "B": pulls.drive @ (seen_output @ seen_output.T),
            "B_map": drive_near @ (output @ output.T),
            "C": _through(states, pulls.drive),
        },
        attention={
            "D": pulls.drive @ seen_across,
            "D_map": drive_near @ across,
            "E": pulls.contrast * seen_query.dot(seen_query) / scale**2,
            "E_map": contrast_near.squeeze(-1) * query.dot(query) / scale**2,
            "F": _through(states, contrast).squeeze(-1) / scale**2,
        },
    )


def additive_terms(
    embeddings: Vectors,
    map_weight: Float[Tensor, "inner embedding"],
    map_bias: Float[Tensor, " inner"],
    output: Float[Tensor, "outputs embedding"],
    query: Float[Tensor, " inner"],
    scale: float,
    pulls: Pulls,
    *,
    is_linearised: bool = True,
) -> Terms:
    """Additive attention on embeddings: a_e = V · tanh(M e + b) / scale.

    Sun & Lu's form takes tanh(x) for x (`is_linearised`): approximate, and good only while the
    inner layer is small. Otherwise each word has the slope of tanh at its own place, and the
    terms are exact. With u_e = M' (V * slope_e):
    A = (W · u_e / scale) rho / m    D = (u_e · W / scale) pi / m
    B, C as for the dot product      E = (|u_e|² / scale²) rho / m
                                     E_map = sum_j rho_j (V * slope_e) · (V * slope_j) (e · e_j + 1)
                                     F = sum_j rho_j tanh_e · tanh_j;  both / (m scale²)
    """
    inner = embeddings @ map_weight.T + map_bias
    value = inner if is_linearised else inner.tanh()
    slope = torch.ones_like(inner) if is_linearised else 1 - value.square()
    lever = slope * query  # what a small change of a word's inner layer does to its score
    seen_query = lever @ map_weight
    across = seen_query @ output.T / scale
    contrast = pulls.contrast.unsqueeze(-1)
    near = (lever * (embeddings @ (embeddings.T @ (contrast * lever)))).sum(dim=-1)
    near = near + lever @ (contrast * lever).sum(dim=0)
    return Terms(
        polarity={
            "A": contrast * across,
            "B": pulls.drive @ (output @ output.T),
            "C": _through(embeddings, pulls.drive),
        },
        attention={
            "D": (pulls.drive * across).sum(dim=-1),
            "E": pulls.contrast * seen_query.square().sum(dim=-1) / scale**2,
            "E_map": near / scale**2,
            "F": _through(value, contrast).squeeze(-1) / scale**2,
        },
    )


def _through(
    rows: Float[Tensor, "vocabulary size"], pulls: Float[Tensor, "vocabulary columns"]
) -> Float[Tensor, "vocabulary columns"]:
    """For each word, the sum over all words of their pull times the dot product of the two."""
    return rows @ (rows.T @ pulls)
