"""Attributions made by Captum and SHAP themselves, against the same reading computed inside."""

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from captum.attr import IntegratedGradients, LayerGradientXActivation

import heedful
from heedful.auditing.explanation import subject_of_any
from heedful.auditing.given_scores import GivenScores
from tests.auditing.doubles import a_subject
from tests.readouts.tiny import tiny_model, tiny_tokenizer

TEXTS = ["a good film", "unhappily bad, old.", "new film is good"]


@pytest.fixture(scope="module")
def pair():
    return tiny_model("Bert"), tiny_tokenizer()


@pytest.fixture(scope="module")
def subject(pair):
    return subject_of_any(pair)


@pytest.fixture(scope="module")
def reading(subject):
    return subject.read(TEXTS)


def judged(subject, reading, given: object) -> np.ndarray:
    """The given scores on the words of the texts, as an audit judges them."""
    scores = GivenScores.read(given)
    (name,) = scores.names
    return scores.beside(subject).importance(reading, name)


def kept(path: Path, pair, attribute) -> str:
    """A file as people save what Captum gives them: texts, tokens, attributions to vectors."""
    model, tokenizer = pair
    encoded = tokenizer(TEXTS, padding=True, return_tensors="pt")

    def logits(ids, mask):
        return model(input_ids=ids, attention_mask=mask).logits

    target = logits(encoded.input_ids, encoded.attention_mask).argmax(dim=-1)
    found = attribute(logits, encoded, target).detach() * encoded.attention_mask[..., None]
    tokens = [
        [token if real else "" for token, real in zip(row, mask, strict=True)]
        for row, mask in zip(
            map(tokenizer.convert_ids_to_tokens, encoded.input_ids),
            encoded.attention_mask.tolist(),
            strict=True,
        )
    ]
    np.savez(path, texts=TEXTS, tokens=tokens, attributions=found.numpy(), method="outside")
    return str(path)


def test_captums_gradient_times_input_is_ours(subject, reading, pair, tmp_path):
    def attribute(forward, encoded, target):
        layer = pair[0].get_input_embeddings()
        method = LayerGradientXActivation(forward, layer)
        return method.attribute(
            encoded.input_ids, target=target, additional_forward_args=(encoded.attention_mask,)
        )

    found = judged(subject, reading, kept(tmp_path / "scores.npz", pair, attribute))
    expected = subject.importance(reading, "gradient-x-input")
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_captums_integrated_gradients_are_ours(subject, reading, pair, tmp_path):
    special = torch.tensor([0, 2, 3])  # padding and both ends stay as they are

    def attribute(forward, encoded, target):
        # Ours start from words at zero, and everything else as it is.
        embedding = pair[0].get_input_embeddings()
        is_special = torch.isin(encoded.input_ids, special)[..., None]
        start = torch.where(is_special, embedding(encoded.input_ids), 0.0)

        def from_vectors(vectors, mask):
            return pair[0](inputs_embeds=vectors, attention_mask=mask).logits

        return IntegratedGradients(from_vectors).attribute(
            embedding(encoded.input_ids), start, target=target, n_steps=200,
            additional_forward_args=(encoded.attention_mask,),
        )  # fmt: skip

    found = judged(subject, reading, kept(tmp_path / "scores.npz", pair, attribute))
    # The same integral in 20 Gauss-Legendre points and in Captum's 200.
    exact = subject.importance(reading, "integrated-gradients:steps=200")
    np.testing.assert_allclose(found, exact, atol=2e-3)


@pytest.mark.skipif(find_spec("shap") is None, reason="shap is not installed")
@pytest.mark.filterwarnings("ignore")  # shap's own
def test_an_explanation_by_shap_is_judged_on_our_words(subject, reading, pair):
    import shap

    def probabilities(texts):
        return subject.predict_texts([str(text) for text in texts])

    masker = shap.maskers.Text(pair[1], mask_token="[UNK]")
    explainer = shap.Explainer(probabilities, masker, output_names=list(subject.classes), seed=0)
    explanation = explainer(TEXTS, silent=True)
    found = judged(subject, reading, explanation)
    for row, text in enumerate(TEXTS):
        of_class = explanation.values[row][:, reading.prediction[row]]
        total = sum(of_class)  # every token stands on some word, or on a blank, which has no score
        assert found[row].sum() == pytest.approx(total, abs=1e-6), text
        # Shapley values sum to what the whole text says beyond the empty one.
        whole = reading.probabilities[row, reading.prediction[row]]
        empty = explanation.base_values[row][reading.prediction[row]]
        assert total == pytest.approx(whole - empty, abs=1e-4)


SHARES = {"good": 0.08, "fine": 0.03, "the": 0.004, "dull": -0.02, "bad": -0.07}


def by_sums(texts):
    """A probability that is a sum over words, of which each word's Shapley value is its part."""
    good = np.array([0.5 + sum(SHARES.get(word, 0) for word in text.split()) for text in texts])
    return np.stack([1 - good, good], axis=1)


@pytest.mark.skipif(find_spec("shap") is None, reason="shap is not installed")
@pytest.mark.filterwarnings("ignore")  # shap's own
def test_a_file_of_shap_has_the_numbers_of_the_same_reading_inside(tmp_path):
    import shap

    rng = np.random.default_rng(5)
    texts = [" ".join([*rng.choice([*SHARES, "film"], size=5), f"n{n}"]) for n in range(30)]
    subject = a_subject({}, predict=by_sums)
    masker = shap.maskers.Text(r"\s+", mask_token="unknown ", collapse_mask_token=False)
    explainer = shap.Explainer(lambda some: by_sums(list(map(str, some))), masker, seed=0)
    found = explainer(texts, silent=True)
    path = tmp_path / "shap.json"
    fields = {
        "values": [values.tolist() for values in found.values],
        "data": [[str(token) for token in tokens] for tokens in found.data],
        "output_names": ["bad", "good"],
    }
    path.write_text(json.dumps(fields))
    # Deleting a word from a sum takes its part away: leave-one-out is the same reading.
    inside = subject.importance(subject.read(texts), "leave-one-out")
    given = judged(subject, subject.read(texts), str(path))
    np.testing.assert_allclose(given, inside, atol=1e-6)
    audit = heedful.audit(subject, texts, asked=["telling"], attributions=str(path))
    rows = {row["measure"]: row for row in audit.evidence["measures"]}
    for column in ("comprehensiveness", "sufficiency", "false_pictures", "false_high"):
        assert rows["given shap"][column] == pytest.approx(rows["leave-one-out"][column], abs=1e-6)
