"""Kendall's tau between attention and importance, beside Jain & Wallace's published means.

    python benchmarks/published_agreement.py [--seeds 1 2 3] [--workers 2]

BiLSTM and "average" encoders with additive attention, trained as they did, the epoch chosen on
dev; tau-b of attention with |gradient x input, attention held| and with |leave-one-out| on test
documents within their length limits, by predicted class. Needs $HEEDFUL_DATA and $HEEDFUL_VECTORS:
the numbers depend on the vectors a model starts from, and theirs were others. Prints Markdown.
"""

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from typing import Any

import machine
import numpy as np
import torch

import heedful
from heedful.auditing.metrics.ranking import kendall_test
from heedful.auditing.subjects import ClassifierSubject
from heedful.training.settings import profiles

LIMITS = {"sst2_jw": (6, 10**9), "20news_sports": (7, 499)}  # words: fewest, most
ENCODERS = {"BiLSTM": "bilstm:hidden_size=128", "average": "mlp:hidden_size=128"}
MEASURES = {"gradient": "gradient-x-input-held", "leave-one-out": "leave-one-out"}
# Mean tau by class, from the authors' result files (PAPERS 6.4).
PUBLISHED = {
    ("sst2_jw", "BiLSTM"): {"gradient": (0.343, 0.364), "leave-one-out": (0.272, 0.323)},
    ("sst2_jw", "average"): {"gradient": (0.611, 0.600), "leave-one-out": (0.606, 0.642)},
    ("20news_sports", "BiLSTM"): {"gradient": (0.066, 0.210), "leave-one-out": (0.064, 0.195)},
    ("20news_sports", "average"): {"gradient": (0.787, 0.754), "leave-one-out": (0.635, 0.823)},
}


def agreement(corpus_name: str, encoder: str, seed: int) -> dict[str, Any]:
    """Accuracy of one training, and per measure tau by class: mean, sd, share with p <= 0.05."""
    torch.set_num_threads(1)
    corpus = heedful.load(corpus_name)
    settings = profiles["jain-wallace"]().with_(
        encoder=ENCODERS[encoder], split=corpus.split, seed=seed,
        vectors=os.environ["HEEDFUL_VECTORS"],
    )  # fmt: skip
    classifier = heedful.Classifier(**settings.flat())
    dev = (corpus.dev.texts, corpus.dev.labels)
    classifier.fit(corpus.train.texts, corpus.train.labels, dev=dev)
    fewest, most = LIMITS[corpus_name]
    texts = [t for t in corpus.test.texts if fewest <= len(t.split()) <= most]
    subject = ClassifierSubject(classifier.trained_)
    predictions = []
    found: dict[str, list[Any]] = {measure: [] for measure in MEASURES}
    texts.sort(key=lambda text: len(text.split()))
    for start in range(0, len(texts), 32):
        reading = subject.read(texts[start : start + 32])
        predictions.append(reading.prediction)
        for measure, name in MEASURES.items():
            scores = np.abs(subject.importance(reading, name))
            test = kendall_test(reading.weights, scores, reading.is_token)
            found[measure].append(np.stack([test.tau, test.p_value]))
    prediction = np.concatenate(predictions)
    by_class = {}
    for measure, chunks in found.items():
        tau, p_value = np.concatenate(chunks, axis=1)
        by_class[measure] = [
            (
                float(np.nanmean(tau[prediction == k])),
                float(np.nanstd(tau[prediction == k])),
                float(np.nanmean(p_value[prediction == k] <= 0.05)),
            )
            for k in (0, 1)
        ]
    accuracy = 100 * classifier.score(corpus.test.texts, corpus.test.labels)
    return {"accuracy": accuracy, "documents": len(texts), **by_class}


def main() -> None:
    """Print a row per corpus, encoder, measure and class."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    cells = list(product(LIMITS, ENCODERS, arguments.seeds))
    with ProcessPoolExecutor(arguments.workers) as pool:
        results = dict(zip(cells, pool.map(agreement, *zip(*cells, strict=True)), strict=True))
    print(machine.describe() + f"\nseeds {arguments.seeds}; vectors: GloVe 100-d\n")
    heads = "corpus | encoder | accuracy | measure | class | published | ours | each seed | p≤.05"
    print(f"| {heads} |\n" + "|---" * 9 + "|")
    for corpus, encoder in product(LIMITS, ENCODERS):
        runs = [results[corpus, encoder, seed] for seed in arguments.seeds]
        accuracy = np.mean([run["accuracy"] for run in runs])
        for measure, k in product(MEASURES, (0, 1)):
            taus = [run[measure][k][0] for run in runs]
            spread = np.mean([run[measure][k][1] for run in runs])
            share = np.mean([run[measure][k][2] for run in runs])
            each = " ".join(f"{tau:.3f}" for tau in taus)
            published = PUBLISHED[corpus, encoder][measure][k]
            print(
                f"| {corpus} | {encoder} | {accuracy:.1f} | {measure} | {k} | {published:.3f} "
                f"| {np.mean(taus):.3f} ± {spread:.3f} | {each} | {share:.2f} |"
            )
    print("\nHow much better the context-free encoder agrees (mean over classes), each seed:\n")
    for corpus, measure in product(LIMITS, MEASURES):
        gaps = [
            np.mean([results[corpus, "average", seed][measure][k][0] for k in (0, 1)])
            - np.mean([results[corpus, "BiLSTM", seed][measure][k][0] for k in (0, 1)])
            for seed in arguments.seeds
        ]
        print(f"- {corpus}, {measure}: {' '.join(f'{gap:+.3f}' for gap in gaps)}")


if __name__ == "__main__":
    main()
