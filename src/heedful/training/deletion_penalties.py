"""Penalties of attention that are taken from texts with only some of their words.

`rank` compares the order of the scores with the effect of deleting words; `drop` and `away` ask
what is left without the top words. None of them knows a recipe.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.model.classifier import AttentionClassifier, TextClassifier, Trace
from heedful.model.word_subsets import logits_of_kept, logits_of_variants
from heedful.text.batching import Batch, Sizes, may_be_asked, sent
from heedful.training.evaluate import evaluating

IsToken = Bool[Tensor, "batch tokens"]
Embedded = Float[Tensor, "batch tokens embedding"]
Scores = Float[Tensor, "batch tokens"]
Drawn = Float[Tensor, "batch drawn"]
Places = Int[Tensor, "batch drawn"]
IsDrawn = Bool[Tensor, "batch drawn"]
LabelShares = Float[Tensor, " classes"]
Loss = Float[Tensor, ""]

TOP = 0.2  # of the words of a dev text: answers from these alone tell the best epoch, too
ROUNDING = 1e-6  # of a share times a number of words; falls that differ by less are the same


@dataclass
class Answer:
    """What is scored of a model."""

    logits: Float[Tensor, "batch classes"]


class TopWords(nn.Module):
    """A model that is shown the top words of each text alone."""

    def __init__(self, model: AttentionClassifier) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> Answer:
        """The answers from these words."""
        trace = self.model(batch)
        is_top = top_words(trace.scores, batch.is_token, TOP)
        return Answer(logits_of_words(self.model, trace.embedded, is_top))


def rank(
    model: TextClassifier,
    batch: Batch,
    trace: Trace,
    ranked_share: float,
    deletions: int,
    rng: torch.Generator,
    is_replaced: bool = False,
    shortened_share: float = 0.0,
) -> Loss:
    """Whether scores are in the order of the falls, for a few words of some documents.

    In `shortened_share` of these documents, words are deleted from a shortened text.
    """
    count = math.ceil(ranked_share * len(batch.labels) - ROUNDING)
    chosen = torch.randperm(len(batch.labels), generator=rng)[:count]
    rows = sent(chosen, batch.labels.device)
    sizes = None if batch.sizes is None else batch.sizes.of(chosen.numpy())
    some = batch.kept(chosen, batch.is_token[rows], sizes)
    tokens = some.is_token.shape[1]
    weights, scores = trace.weights[rows, :tokens], trace.scores[rows, :tokens]
    places, is_drawn = draw_places(weights.detach(), some.is_token, deletions, rng)
    is_left = None
    if shortened_share:
        is_left = shortened(some.is_token, places, is_drawn, shortened_share, rng)
    fall = falls(model, some, places, is_drawn, is_replaced, is_left)
    return misranking(scores.gather(1, places), fall.to(scores.dtype), is_drawn)


def misranking(scores: Drawn, fall: Drawn, is_drawn: IsDrawn) -> Loss:
    """Mean over documents of how far the order of the scores is from that of the falls.

    sum_ij gap_ij * softplus(score_j - score_i) / sum_ij gap_ij,   gap_ij = max(0, fall_i - fall_j)

    ln 2 where all scores are equal; near 0 where every word scores far above those of less fall.
    A document without two words, or whose words are all worth the same, counts 0.
    """
    gap = (fall.unsqueeze(2) - fall.unsqueeze(1) - ROUNDING).clamp(min=0)
    gap = gap * (is_drawn.unsqueeze(2) & is_drawn.unsqueeze(1))
    below = scores.unsqueeze(1) - scores.unsqueeze(2)
    losses = (gap * nn.functional.softplus(below)).sum(dim=(1, 2))
    return (losses / gap.sum(dim=(1, 2)).clamp(min=torch.finfo(gap.dtype).tiny)).mean()


def falls(
    model: TextClassifier,
    batch: Batch,
    places: Places,
    is_drawn: IsDrawn,
    is_replaced: bool = False,
    is_left: IsToken | None = None,
) -> Drawn:
    """log p(words that are left) - log p(these without the word), in nats.

    `p` is that of the class predicted from the whole text; all its words are left unless `is_left`
    says otherwise. Other words are deleted, or replaced by an unknown one if `is_replaced`. Read
    without dropout and without a gradient; 0 where no word is drawn.
    """
    texts = [batch.is_token] if is_left is None else [batch.is_token, is_left]
    before = len(texts) * len(places)  # the drawn words are deleted from the last of these
    row, number = _pairs(is_drawn)
    document = torch.cat([*[torch.arange(len(places))] * len(texts), row])
    there = sent(document, places.device)
    row, number = there[before:], sent(number, places.device)
    without = texts[-1][row]
    # An assignment by index would make a GPU wait.
    without.scatter_(1, places[row, number].unsqueeze(1), False)
    is_kept = torch.cat([*texts, without])
    with evaluating(model), torch.no_grad():
        if is_replaced:
            logits = _logits_of_replaced(model, batch, there, is_kept)
        elif may_be_asked(is_kept):
            logits = logits_of_kept(model, batch, document.numpy(), is_kept.cpu().numpy())
        else:
            logits = logits_of_variants(model, batch, document, is_kept)
    # A copy, since what was made in inference mode may not take part in a gradient.
    log_p = logits.clone().double().log_softmax(dim=-1)
    target = log_p[: len(places)].argmax(dim=-1)
    of_target = log_p.gather(1, target[there].unsqueeze(1)).squeeze(1)
    fall = log_p.new_zeros(places.shape)
    fall[row, number] = of_target[before - len(places) : before][row] - of_target[before:]
    return fall.masked_fill(~is_drawn, 0)


def _pairs(is_drawn: IsDrawn) -> tuple[Int[Tensor, " pairs"], Int[Tensor, " pairs"]]:
    """The drawn words, by document and number; where it may not be asked which, all places."""
    if not may_be_asked(is_drawn):
        is_drawn = torch.ones(is_drawn.shape, dtype=torch.bool)
    row, number = is_drawn.cpu().nonzero(as_tuple=True)
    return row, number


def draw_places(
    weights: Scores, is_token: IsToken, count: int, rng: torch.Generator
) -> tuple[Places, IsDrawn]:
    """Different words of each document: half drawn by attention, the others evenly from the rest.

    The second result is False where a document has too few words.
    """
    width, by_attention = is_token.shape[1], count // 2
    # The largest of log weight + Gumbel noise are a draw without replacement by the weights.
    noise = sent(torch.rand(2, *is_token.shape, generator=rng, dtype=torch.float64), weights.device)
    first, second = -(-noise.clamp(min=1e-300).log()).log()
    smallest = torch.finfo(weights.dtype).tiny
    likely = (weights.clamp(min=smallest).log() + first).masked_fill(~is_token, -torch.inf)
    chosen = likely.topk(min(by_attention, width), dim=1).indices
    others = second.masked_fill(~is_token, -torch.inf).scatter(1, chosen, torch.inf)
    places = others.topk(min(count, width), dim=1).indices
    return places, is_token.gather(1, places)


def shortened(
    is_token: IsToken, places: Places, is_drawn: IsDrawn, share: float, rng: torch.Generator
) -> IsToken:
    """Which words are left when a share of the texts is shortened. The drawn words always stay.

    Each other word of such a text stays with a probability that is drawn uniformly from 0 to 1 for
    the text. With a single drawn word, the mean fall would be its Shapley value (Owen 1972).
    """
    is_whole, staying = torch.rand(2, len(is_token), 1, generator=rng)
    stays = torch.rand(is_token.shape, generator=rng) < staying
    stays = sent(stays | (is_whole >= share), is_token.device)
    return is_token & stays.scatter(1, places, is_drawn | stays.gather(1, places))


def top_words(scores: Scores, is_token: IsToken, share: float) -> IsToken:
    """The ⌈share · n⌉ words of most attention of each document; equal ones in their order.

    By scores, whose order every projection keeps: they also rank words that get no weight.
    """
    count = (is_token.sum(dim=1, keepdim=True) * share - ROUNDING).ceil()
    masked = scores.detach().masked_fill(~is_token, -torch.inf)
    place_of = masked.argsort(dim=1, descending=True, stable=True).argsort(dim=1)
    return (place_of < count) & is_token


def _logits_of_replaced(
    model: TextClassifier,
    batch: Batch,
    document: Int[Tensor, " variants"],
    is_kept: Bool[Tensor, "variants tokens"],
) -> Float[Tensor, "variants classes"]:
    """Logits of documents of the batch with an unknown word for each word that is not kept."""
    embedded = model.embed(batch)[document]
    is_token = batch.is_token[document]
    changed = with_unknown_words(model, embedded, is_kept, is_token)
    return model.read(changed, is_token, batch.longest_row).logits


def drop(
    model: AttentionClassifier,
    batch: Batch,
    trace: Trace,
    is_top: IsToken,
    of_label: LabelShares,
    is_replaced: bool = False,
) -> Loss:
    """KL(shares of the labels | p) of the texts without their top words, in nats."""
    rest, sizes = batch.is_token & ~is_top, sizes_of_share(batch, 1.0)
    is_token = batch.is_token if is_replaced else None
    logits = logits_of_words(model, trace.embedded, rest, is_token, sizes)
    return from_shares(of_label, logits, batch)


def away(
    model: AttentionClassifier, batch: Batch, trace: Trace, is_top: IsToken, of_label: LabelShares
) -> Loss:
    """The same of the states as they are, with all weight spread evenly over the other words."""
    rest = batch.is_token & ~is_top
    even = rest / rest.sum(dim=1, keepdim=True).clamp(min=1)
    return from_shares(of_label, model.decide(trace.hidden, even.to(trace.hidden.dtype)), batch)


def from_shares(
    of_label: LabelShares, logits: Float[Tensor, "batch classes"], batch: Batch
) -> Loss:
    """Mean KL(shares of the labels | p) of some logits, each document counted by its weight."""
    log_p = logits.log_softmax(dim=-1)
    of_label = of_label.to(log_p.dtype)
    divergence = (torch.xlogy(of_label, of_label) - of_label * log_p).sum(dim=-1)
    return (divergence * batch.example_weight).mean()


def logits_of_words(
    model: AttentionClassifier,
    embedded: Embedded,
    is_kept: IsToken,
    is_token: IsToken | None = None,
    sizes: Sizes | None = None,
) -> Float[Tensor, "batch classes"]:
    """Logits of the kept words from embeddings that the whole texts share.

    The others are deleted, and the kept ones move up; where `is_token` is given, each of the others
    is replaced by an unknown word. The gradient of the embedding table, most of a small model, is
    taken once for all texts. Without `sizes`, which no text that is read exceeds, the device is
    asked.
    """
    longest_row = None if sizes is None else int(sizes.pieces.max())
    if is_token is not None:
        changed = with_unknown_words(model, embedded, is_kept, is_token)
        return model.read(changed, is_token, longest_row).logits
    lengths = is_kept.sum(dim=1, keepdim=True)
    longest = max(1, int(lengths.max() if sizes is None else sizes.words.max()))
    kept_first = (~is_kept).byte().argsort(dim=1, stable=True)[:, :longest]
    is_word = torch.arange(longest, device=is_kept.device) < lengths
    words = embedded.gather(1, kept_first.unsqueeze(-1).expand(-1, -1, embedded.shape[-1]))
    return model.read(words * is_word.unsqueeze(-1), is_word, longest_row).logits


def sizes_of_share(batch: Batch, share: float) -> Sizes | None:
    """The sizes, at most, of this share of each text's words; None where they may be asked for."""
    if batch.sizes is None or may_be_asked(batch.is_token):
        return None
    return batch.sizes.of_share(share, batch.pieces_per_word)


def with_unknown_words(
    model: TextClassifier, embedded: Embedded, is_kept: IsToken, is_token: IsToken
) -> Embedded:
    """Embeddings of the texts with an unknown word in place of each word that is not kept."""
    unknown = model.unknown_vector(embedded.shape[-1])
    return embedded.where(is_kept.unsqueeze(-1), unknown) * is_token.unsqueeze(-1)
