"""Readings of a Transformer's layers, each by a second route on a tiny random BERT."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cosine_similarity

from heedful.auditing.subjects.huggingface.model import TransformerModel
from heedful.auditing.subjects.huggingface.subject import subject_of
from heedful.importance import Need, importances
from heedful.readouts import readouts
from heedful.readouts.pooling import SPECIAL
from tests.readouts.tiny import DECODERS, KINDS, REPLACEABLE, tiny_model, tiny_tokenizer

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")

TEXTS = ["Good old film, unhappily bad.", "a bad film", "new"]
OF_LAYERS = [name for name in importances if Need.LAYERS in importances[name].needs]
every_reading = pytest.mark.parametrize("name", OF_LAYERS)


def a_subject(kind="Bert"):
    model = TransformerModel(tiny_model(kind), tiny_tokenizer())
    return subject_of(model, readouts.make("last-cls"), ("bad", "good"))


@pytest.fixture(scope="module")
def bert():
    """With biases, which a new model has not."""
    subject = a_subject()
    rng = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, numbers in subject.model.model.named_parameters():
            if name.endswith("bias"):
                numbers.normal_(std=0.2, generator=rng)
    return subject


def inputs_of(subject, text):
    (pieces,) = subject.model.cutter.cut([text])
    batch = {name: torch.tensor([numbers]) for name, numbers in pieces.inputs.items()}
    return batch, pieces


def on_words(scores, pieces):
    """Scores of positions added up by word, in a loop."""
    words = np.zeros(len(pieces.offsets))
    for score, word in zip(scores.tolist(), pieces.word_of.tolist(), strict=True):
        if word != SPECIAL:
            words[word] += score
    return words


def eager_pass(subject, text):
    """Embeddings of words, states, attention and the predicted logit, by Hugging Face's own way."""
    batch, pieces = inputs_of(subject, text)
    model = subject.model.model
    model.set_attn_implementation("eager")
    embedded = model.get_input_embeddings()(batch.pop("input_ids")).detach().requires_grad_()
    out = model(inputs_embeds=embedded, **batch, output_attentions=True, output_hidden_states=True)
    return embedded, out.hidden_states, out.attentions, out.logits.max(), pieces


def by_hand(name, subject, text):
    embedded, states, attentions, logit, pieces = eager_pass(subject, text)
    slopes = torch.autograd.grad(logit, [embedded, *states[1:], *attentions], allow_unused=True)
    slope_e, slopes_s, slopes_a = slopes[0], slopes[1 : len(states)], slopes[len(states) :]
    size = embedded.shape[1]
    with_input = (slope_e * embedded).sum(-1)[0]
    if name == "generic-attention":
        flow = torch.eye(size)
        for weights, slope in zip(attentions, slopes_a, strict=True):
            flow = flow + (weights * slope).clamp(min=0).mean(1)[0] @ flow
        return on_words(flow[0], pieces)
    if name == "attention-x-gradient-x-input":
        return on_words(attentions[-1][0, :, 0].mean(0) * with_input, pieces)
    if name == "attcat":
        total = torch.zeros(size)
        for state, slope, weights in zip(states[1:], slopes_s, attentions, strict=True):
            total += weights[0].mean(0).mean(0) * (slope * state).sum(-1)[0]
        return on_words(total, pieces)
    flow = torch.eye(size)
    if name == "alti":
        for number, block in enumerate(subject.model.model.bert.encoder.layer):
            flow = contributions(block, states[number], attentions[number]) @ flow
        return on_words(flow[0], pieces)
    if name == "decomposition-with-biases":
        return on_words(propagated(subject.model.model, states, attentions, logit), pieces)
    assert name == "value-zeroing"
    for number, block in enumerate(subject.model.model.bert.encoder.layer):
        flow = distances(block, states[number], states[number + 1]) @ flow
    return on_words(flow[0], pieces)


@torch.no_grad()
def contributions(block, given, attention):
    """Of a layer of BERT, written out: what each position gives to the output of attention."""
    taken, norm = block.attention.output.dense, block.attention.output.LayerNorm
    size, heads = given.shape[1], attention.shape[1]
    value = block.attention.self.value(given)[0].view(size, heads, -1)
    width = value.shape[-1]
    parts = torch.zeros(size, size, given.shape[-1])
    for i in range(size):
        for j in range(size):
            for head in range(heads):
                matrix = taken.weight[:, head * width : (head + 1) * width]
                parts[i, j] += attention[0, head, i, j] * (matrix @ value[j, head])
        parts[i, i] += given[0, i]
    total = parts.sum(dim=1) + taken.bias
    deviation = (total.var(dim=-1, correction=0) + norm.eps).sqrt()
    rows = torch.zeros(size, size)
    for i in range(size):
        output = norm(total[i])
        for j in range(size):
            part = norm.weight * (parts[i, j] - parts[i, j].mean()) / deviation[i]
            rows[i, j] = (output.abs().sum() - (output - part).abs().sum()).clamp(min=0)
    return rows / rows.sum(-1, keepdim=True)


def distances(block, given, usual):
    """Of a layer of BERT, written out: values zeroed one after the other."""
    attention = block.attention
    size, heads = given.shape[1], attention.self.num_attention_heads

    def split(x):
        return x.view(size, heads, -1).transpose(0, 1)

    query, key, value = (
        split(part(given)[0])
        for part in (attention.self.query, attention.self.key, attention.self.value)
    )
    weights = (query @ key.transpose(1, 2) / query.shape[-1] ** 0.5).softmax(-1)
    rows = torch.zeros(size, size)
    for place in range(size):
        zeroed = value.clone()
        zeroed[:, place] = 0
        taken = (weights @ zeroed).transpose(0, 1).reshape(1, size, -1)
        middle = attention.output(taken, given)
        state = block.output(block.intermediate(middle), middle)
        rows[:, place] = 1 - cosine_similarity(state[0], usual[0], dim=-1)
    return rows / rows.sum(-1, keepdim=True)


def shared(parts, bias):
    """Vectors parts[i][k] that k gives to i, with a bias of i shared out among all k."""
    found = parts.clone()
    for row in found:
        sizes = [abs(float(part @ bias)) for part in row]
        for part, size in zip(row, sizes, strict=True):
            part += bias * size / (sum(sizes) or 1)
    return found


def through_norm(parts, states, norm):
    """The same behind a norm of the states, whose deviation is held."""
    deviation = (states.var(dim=-1, correction=0) + norm.eps).sqrt()
    centred = parts - parts.mean(dim=-1, keepdim=True)
    return shared(centred / deviation[:, None, None] * norm.weight, norm.bias)


@torch.no_grad()
def propagated(model, states, attentions, logit):
    """BERT, written out with a vector from each position (k) to each (i), as DecompX has them."""
    size = states[0].shape[1]
    parts = torch.diag_embed(torch.ones(size)).unsqueeze(-1) * states[0][0].unsqueeze(0)
    for block, attention in zip(model.bert.encoder.layer, attentions, strict=True):
        value, taken = block.attention.self.value, block.attention.output.dense
        width = value.out_features // attention.shape[1]
        added = torch.zeros_like(parts)
        for head, weights in enumerate(attention[0]):
            some = slice(head * width, (head + 1) * width)
            matrix = taken.weight[:, some] @ value.weight[some]
            for i in range(size):
                for j in range(size):
                    added[i] += weights[i, j] * parts[j] @ matrix.T
        summed = shared(added + parts, taken.weight @ value.bias + taken.bias)
        middle = through_norm(summed, summed.sum(dim=1), block.attention.output.LayerNorm)
        inner, outer = block.intermediate.dense, block.output.dense
        before = shared(middle @ inner.weight.T, inner.bias)
        total = before.sum(dim=1)
        after = before * (torch.nn.functional.gelu(total) / total)[:, None]
        summed = shared(after @ outer.weight.T, outer.bias) + middle
        parts = through_norm(summed, summed.sum(dim=1), block.output.LayerNorm)
    pooled = shared(parts[:1] @ model.bert.pooler.dense.weight.T, model.bert.pooler.dense.bias)
    total = pooled.sum(dim=1)
    pooled = pooled * (total.tanh() / total)[:, None]
    scores = shared(pooled @ model.classifier.weight.T, model.classifier.bias)[0]
    torch.testing.assert_close(scores.sum(dim=0).max(), logit, atol=1e-4, rtol=1e-4)
    return scores[:, scores.sum(dim=0).argmax()]


@every_reading
@pytest.mark.parametrize("text", TEXTS)
def test_each_reading_equals_its_definition_written_out(bert, name, text):
    expected = by_hand(name, bert, text)
    found = bert.importance(bert.read([text]), name)[0]
    np.testing.assert_allclose(found, expected, atol=1e-4, rtol=1e-4)
    if len(expected) > 1:  # a word alone may give nothing beside [CLS] and [SEP]
        assert np.abs(expected).max() > 1e-6


@every_reading
@pytest.mark.parametrize("kind", [*REPLACEABLE, *DECODERS])
def test_padding_changes_nothing_in_any_architecture_that_gives_its_layers(name, kind):
    subject = a_subject(kind)
    if not importances[name].needs <= subject.gives:
        assert subject.model.why_no_sums if name == "alti" else subject.model.why_no_layers
        return
    reading = subject.read(TEXTS)
    together = subject.importance(reading, name)
    assert np.isfinite(together).all()
    assert (together[~reading.is_token] == 0).all()
    for row, text in enumerate(TEXTS):
        alone = subject.importance(subject.read([text]), name)[0]
        np.testing.assert_allclose(alone, together[row, : len(alone)], atol=1e-4)


def test_most_architectures_give_their_layers_and_the_others_say_why_not():
    able = {kind for kind in (*KINDS, *DECODERS) if not a_subject(kind).model.why_no_layers}
    assert able >= {"Bert", "Roberta", "DistilBert", "Electra", "ModernBert", "XLMRoberta"}
    assert able >= set(DECODERS)
    for kind in set(KINDS) - able:
        (note,) = [one for one in a_subject(kind).notes if "readings of its layers" in one]
        assert type(tiny_model(kind)).__name__ in note


@every_reading
def test_the_model_is_left_as_it_was(bert, name):
    model = bert.model.model
    model.set_attn_implementation("sdpa")
    model.train()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    bert.importance(bert.read(TEXTS), name)
    assert model.training
    assert model.config._attn_implementation == "sdpa"
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())
    model.eval()


def test_a_model_that_ignores_zeroed_values_gives_no_value_zeroing_instead_of_a_constant():
    model = tiny_model("Bert")
    with torch.no_grad():
        for block in model.bert.encoder.layer:
            block.attention.output.dense.weight.zero_()
    subject = subject_of(
        TransformerModel(model, tiny_tokenizer()), readouts.make("last-cls"), ("bad", "good")
    )
    assert "value-zeroing" not in subject.measures
    assert "does not mind that values are zeroed" in subject.model.why_no_layers


def test_a_model_whose_attention_is_normalised_before_it_is_added_gives_no_alti_and_says_why():
    subject = a_subject("Gemma2")
    assert "alti" not in subject.measures
    assert "alti is not available: its layers do not add what they attend to" in str(subject.notes)


def test_biases_are_shared_out_only_where_everything_adds_up():
    bent = tiny_model("Bert")
    bent.bert.pooler.activation = torch.nn.Softsign()  # nobody holds it
    model = TransformerModel(bent, tiny_tokenizer())
    assert "does not add up to them (off by " in model.why_not_shared
    deberta = TransformerModel(tiny_model("DebertaV2"), tiny_tokenizer())
    assert deberta.why_not_shared.startswith("the output matrices of the layers of DebertaV2")
    assert not a_subject().model.why_not_shared


def test_scores_with_biases_sum_to_the_logit_beside_special_positions(bert):
    name = "decomposition-with-biases"
    reading = bert.read(TEXTS)
    found = bert.importance(reading, name).sum(axis=1)
    np.testing.assert_allclose(found, bert.expected_sum(reading, name), atol=1e-4)
    assert np.abs(found).max() > 0.01
