"""A model and its training documents -> the gradient flow of its word scores.

The whole training set is one batch, dropout is off and sums are in double precision. The loss is
the cross-entropy alone: what a recipe adds to it is not in the terms.
"""

from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.analysis.gradient_flow.terms import (
    Pulls,
    Terms,
    additive_terms,
    affine_terms,
    dot_terms,
    gather_pulls,
)
from heedful.errors import ConfigError
from heedful.model.alignments import AdditiveScores, DotScores, LearnedQuery
from heedful.model.classifier import AttentionClassifier, TextClassifier
from heedful.model.layers import TokenWise
from heedful.model.outputs import Output
from heedful.model.projections import softmax
from heedful.text.batching import Batches


@dataclass(frozen=True)
class Flow:
    """Word scores of a model, how they would change, and the numbers behind the terms."""

    terms: Terms
    polarity: Float[Tensor, "vocabulary outputs"]  # s_e, without the output's bias
    attention_score: Float[Tensor, " vocabulary"]  # a_e
    query_times_output: Float[Tensor, " outputs"]  # V · W, both as the embeddings see them
    output_squared: Float[Tensor, " outputs"]  # |W|², as the embeddings see it
    average_beta: float  # mean over documents of 1 - probability of the label
    is_exact: bool


@dataclass(frozen=True)
class Parts:
    """The parameters of a model whose flow has a closed form, in double precision."""

    embeddings: Float[Tensor, "vocabulary embedding"]
    output: Float[Tensor, "outputs hidden"]
    query: Float[Tensor, " query"]
    scale: float
    map_weight: Float[Tensor, "inner embedding"] | None  # of an affine or additive model
    map_bias: Float[Tensor, " inner"] | None
    is_additive: bool


def needs_closed_form(model: TextClassifier) -> AttentionClassifier:
    """The model, if its flow has a closed form; else a sentence that says what is in the way."""

    def refuse(what: str, instead: str) -> ConfigError:
        return ConfigError(
            f"gradient-flow needs attention on embeddings, or on an affine map of them, "
            f"and this model {what}. Use {instead}."
        )

    if not isinstance(model, AttentionClassifier):
        raise refuse("has no attention over words", "--set pooling=attention")
    layers = model.encoder.layers if isinstance(model.encoder, TokenWise) else None
    is_affine, is_plain = isinstance(layers, nn.Linear), isinstance(layers, nn.Identity)
    if not (is_affine or is_plain) or model.key_encoder is not None or model.has_text_query:
        raise refuse("has another encoder or query", "--encoder embedding or --encoder affine")
    is_dot = isinstance(model.alignment, DotScores) and isinstance(
        model.alignment.query, LearnedQuery
    )
    is_additive = isinstance(model.alignment, AdditiveScores) and is_plain
    if not (is_dot or is_additive):
        raise refuse(
            "has additive attention with its own map or query",
            "--alignment dot, or additive with --encoder embedding",
        )
    if model.project is not softmax:
        raise refuse("has a projection other than softmax", "--set projection=softmax")
    if not isinstance(model.output, Output):
        raise refuse("has an output that is not linear", "--set output=linear")
    return model


def flow_of(model: TextClassifier, batches: Batches, *, is_linearised: bool = True) -> Flow:
    """Terms and scores for every word, over all documents at once.

    A bias of the output is left out of s_e, where it would add the same to every word.
    Additive attention is taken as Sun & Lu take it, with tanh(x) for x, unless told otherwise.
    """
    attends = needs_closed_form(model)
    parts = _parts(attends)
    pulls, average_beta = _pulls(attends, batches)
    if parts.map_weight is None or parts.map_bias is None:
        find = partial(dot_terms, parts.embeddings)
        states, seen_query, seen_output = parts.embeddings, parts.query, parts.output
        score = states @ parts.query
    elif parts.is_additive:
        find = partial(
            additive_terms,
            parts.embeddings,
            parts.map_weight,
            parts.map_bias,
            is_linearised=is_linearised,
        )
        states, seen_output = parts.embeddings, parts.output
        seen_query = parts.query @ parts.map_weight
        score = (states @ parts.map_weight.T + parts.map_bias).tanh() @ parts.query
    else:
        find = partial(affine_terms, parts.embeddings, parts.map_weight, parts.map_bias)
        states = parts.embeddings @ parts.map_weight.T + parts.map_bias
        seen_query, seen_output = parts.query @ parts.map_weight, parts.output @ parts.map_weight
        score = states @ parts.query
    return Flow(
        terms=find(parts.output, parts.query, parts.scale, pulls),
        polarity=states @ parts.output.T,
        attention_score=score / parts.scale,
        query_times_output=seen_output @ seen_query,
        output_squared=seen_output.square().sum(dim=-1),
        average_beta=average_beta,
        is_exact=not (parts.is_additive and is_linearised),
    )


def _parts(model: AttentionClassifier) -> Parts:
    layers = model.encoder.layers if isinstance(model.encoder, TokenWise) else None
    alignment, output = model.alignment, model.output
    assert isinstance(output, Output)
    assert isinstance(alignment, DotScores | AdditiveScores)
    inner: object = layers
    if isinstance(alignment, AdditiveScores):
        inner, query = alignment.inner, alignment.outer.weight[0]
    else:
        query = alignment.query(None)[0]
    return Parts(
        embeddings=_double(model.word_vectors.weight),
        output=_double(output.linear.weight),
        query=_double(query),
        scale=float(alignment.scale),
        map_weight=_double(inner.weight) if isinstance(inner, nn.Linear) else None,
        map_bias=_double(inner.bias) if isinstance(inner, nn.Linear) else None,
        is_additive=isinstance(alignment, AdditiveScores),
    )


@torch.no_grad()
def _pulls(model: AttentionClassifier, batches: Batches) -> tuple[Pulls, float]:
    """Drive and contrast of every word over all documents, and the mean of 1 - p(label)."""
    output = model.output
    assert isinstance(output, Output)
    weight = _double(output.linear.weight)
    vocabulary, outputs = model.word_vectors.num_embeddings, len(weight)
    total = Pulls(weight.new_zeros(vocabulary, outputs), weight.new_zeros(vocabulary))
    beta = 0.0
    was_training = model.training
    model.eval()
    for batch in batches.by_length():
        trace = model(batch)
        probabilities = _double(trace.logits).softmax(dim=-1)
        wanted = nn.functional.one_hot(batch.labels, probabilities.shape[-1])
        error = wanted - probabilities
        beta += float((1 - probabilities.gather(-1, batch.labels.unsqueeze(-1))).sum())
        if output.is_binary:  # one score for both labels: the error of the second
            error = error[:, 1:]
        error = error * batch.example_weight.unsqueeze(-1)
        polarity = _double(trace.hidden) @ weight.T
        found = gather_pulls(batch.token_ids, _double(trace.weights), polarity, error, vocabulary)
        total = Pulls(total.drive + found.drive, total.contrast + found.contrast)
    model.train(was_training)
    documents = max(1, len(batches))
    return Pulls(total.drive / documents, total.contrast / documents), beta / documents


def _double(values: Tensor) -> Float[Tensor, "..."]:
    return values.detach().double()
