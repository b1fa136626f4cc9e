"""The terms add up to what autograd says: scores under gradient flow on all parameters."""

import numpy as np
import pytest
import torch

from heedful.analysis.gradient_flow.of_model import flow_of
from heedful.errors import ConfigError
from heedful.model.projections import projections
from heedful.training.recipe import cross_entropy
from tests.analysis.models import VOCABULARY, a_model, some_documents, word_scores

MODELS = [
    ("embedding", "dot:scale=3.0"),
    ("affine:hidden_size=4", "dot:scale=2.0"),
]


def changes_by_autograd(model, batches) -> tuple[torch.Tensor, torch.Tensor]:
    """d s_e / d tau and d a_e / d tau when every parameter moves by minus its gradient."""
    batch = batches.whole()
    parameters = [p for p in model.parameters() if p.requires_grad]
    loss = cross_entropy(model(batch), batch)
    moves = [-g for g in torch.autograd.grad(loss, parameters)]
    polarity, attention = word_scores(model)

    def rate(score: torch.Tensor) -> torch.Tensor:
        slopes = torch.autograd.grad(score, parameters, retain_graph=True, allow_unused=True)
        parts = [(s * m).sum() for s, m in zip(slopes, moves, strict=True) if s is not None]
        return torch.stack(parts).sum() if parts else torch.zeros(())

    return (
        torch.stack([torch.stack([rate(s) for s in row]) for row in polarity]),
        torch.stack([rate(a) for a in attention]),
    )


@pytest.mark.parametrize(("encoder", "alignment"), MODELS)
@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("has_bias", [False, True])
def test_terms_add_up_to_the_change_that_autograd_finds(encoder, alignment, classes, has_bias):
    model = a_model(encoder, alignment, classes, output_bias=has_bias).eval()
    batches = some_documents(classes)
    flow = flow_of(model, batches)
    polarity, attention = changes_by_autograd(model, batches)
    assert flow.is_exact
    assert polarity.abs().max() > 1e-3  # else equality says nothing
    torch.testing.assert_close(flow.terms.polarity_change, polarity, atol=1e-10, rtol=1e-6)
    torch.testing.assert_close(flow.terms.attention_change, attention, atol=1e-10, rtol=1e-6)


@pytest.mark.parametrize("classes", [2, 4])
def test_additive_terms_add_up_exactly_with_the_slope_of_tanh(classes):
    model = a_model("embedding", "additive:width=5:scale=2.0", classes, output_bias=False).eval()
    batches = some_documents(classes)
    flow = flow_of(model, batches, is_linearised=False)
    polarity, attention = changes_by_autograd(model, batches)
    torch.testing.assert_close(flow.terms.polarity_change, polarity, atol=1e-10, rtol=1e-6)
    torch.testing.assert_close(flow.terms.attention_change, attention, atol=1e-10, rtol=1e-6)


def test_linearised_additive_terms_are_exact_when_tanh_is_the_identity(monkeypatch):
    model = a_model("embedding", "additive:width=5:scale=2.0", 2, output_bias=False).eval()
    batches = some_documents(2)
    monkeypatch.setattr(
        model.alignment,
        "second_stage",
        lambda inner: model.alignment.outer(inner).squeeze(-1) / model.alignment.scale,
    )
    flow = flow_of(model, batches)
    polarity, attention = changes_by_autograd(model, batches)
    assert not flow.is_exact
    torch.testing.assert_close(flow.terms.polarity_change, polarity, atol=1e-10, rtol=1e-6)
    torch.testing.assert_close(flow.terms.attention_change, attention, atol=1e-10, rtol=1e-6)


def test_linearised_additive_terms_are_near_while_the_inner_layer_is_small_and_off_when_not():
    errors = []
    for size in (0.1, 1.0, 4.0):
        model = a_model("embedding", "additive:width=5", 2, output_bias=False).eval()
        with torch.no_grad():
            model.alignment.inner.weight *= size
            model.alignment.inner.bias *= size
        batches = some_documents(2)
        _, attention = changes_by_autograd(model, batches)
        off = flow_of(model, batches).terms.attention_change - attention
        errors.append(float(off.norm() / attention.norm()))
    assert errors[0] < 0.02 < errors[1] < errors[2]


def test_the_terms_of_a_dot_product_by_their_own_formulas():
    """Pair by pair and occurrence by occurrence, as the paper writes them."""
    scale, batches = 3.0, some_documents(2)
    model = a_model("embedding", f"dot:scale={scale}", 2, output_bias=False).eval()
    weight, query = model.output.linear.weight[0].detach(), model.alignment.query(None)[0].detach()
    vectors = model.embedding.weight.detach()
    terms = {name: torch.zeros(VOCABULARY, dtype=torch.float64) for name in "ABCDEF"}
    m = len(batches)
    for index in range(m):
        words = torch.from_numpy(batches.documents[index])
        sign = 2 * int(batches.labels[index]) - 1
        e = vectors[words]
        alpha = (e @ query / scale).softmax(dim=0)
        s = e @ weight
        s_t = alpha @ s
        beta = 1 - torch.sigmoid(sign * s_t)
        for j, word in enumerate(words.tolist()):
            pull = sign * beta * alpha[j] / m
            terms["A"][word] += query @ weight / scale * pull * (s[j] - s_t)
            terms["B"][word] += weight @ weight * pull
            terms["C"] += pull * (vectors @ e[j])
            terms["D"][word] += query @ weight / scale * pull
            terms["E"][word] += query @ query / scale**2 * pull * (s[j] - s_t)
            terms["F"] += pull * (vectors @ e[j]) * (s[j] - s_t) / scale**2
    found = flow_of(model, batches).terms
    for name in "ABC":
        torch.testing.assert_close(found.polarity[name][:, 0], terms[name])
    for name in "DEF":
        torch.testing.assert_close(found.attention[name], terms[name])


def test_documents_count_by_their_weight_as_in_the_loss():
    weight = np.random.default_rng(1).uniform(0.2, 3.0, 9)
    batches = some_documents(2, example_weight=weight)
    model = a_model("embedding", "dot:scale=3.0", 2, output_bias=False).eval()
    polarity, attention = changes_by_autograd(model, batches)
    flow = flow_of(model, batches)
    torch.testing.assert_close(flow.terms.polarity_change, polarity, atol=1e-10, rtol=1e-6)
    torch.testing.assert_close(flow.terms.attention_change, attention, atol=1e-10, rtol=1e-6)


def test_how_documents_are_batched_changes_nothing_and_neither_does_dropout():
    model = a_model("affine:hidden_size=4", "dot", 3, dropout=0.5).train()
    whole = flow_of(model, some_documents(3)).terms
    assert model.training
    for one in (
        flow_of(model, some_documents(3, batch_size=2)),
        flow_of(model.eval(), some_documents(3)),
    ):
        torch.testing.assert_close(one.terms.polarity_change, whole.polarity_change)
        torch.testing.assert_close(one.terms.attention_change, whole.attention_change)


def test_scores_and_numbers_beside_the_terms():
    model = a_model("affine:hidden_size=4", "dot:scale=2.0", 2).eval()
    batches = some_documents(2)
    flow = flow_of(model, batches)
    polarity, attention = word_scores(model)
    torch.testing.assert_close(flow.polarity, polarity.detach())
    torch.testing.assert_close(flow.attention_score, attention.detach())
    batch = batches.whole()
    probability = model(batch).logits.softmax(dim=-1).gather(1, batch.labels[:, None])
    assert flow.average_beta == pytest.approx(1 - float(probability.detach().mean()))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"encoder": "lstm:hidden_size=4"}, "another encoder"),
        ({"query": "text"}, "another encoder or query"),
        ({"encoder": "affine", "alignment": "additive"}, "additive attention with its own map"),
        ({"projection": projections.make("sparsemax")}, "other than softmax"),
    ],
)
def test_a_model_without_a_closed_form_is_refused(options, said):
    options = {"encoder": "embedding", "alignment": "dot"} | options
    model = a_model(options.pop("encoder"), options.pop("alignment"), 2, **options)
    with pytest.raises(ConfigError, match=said):
        flow_of(model, some_documents(2))
