"""Does the memory of an audit stay flat however many documents come?

    python benchmarks/memory.py [--documents 500 1000 2000 4000] [--kinds hf bilstm]

Audits a random tiny BERT (one reading) and a small BiLSTM with attention on made-up documents of 6
to 12 words, each audit in a process of its own, parts kept in a folder as the command line keeps
them. Printed is the largest memory that the process ever held (resident set) before the audit and
after it.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import machine
import torch

from heedful.auditing.audit import audit
from heedful.auditing.checkpoints import PartsInFolder
from heedful.auditing.measuring import AuditOptions
from heedful.auditing.questions import AuditSettings
from heedful.auditing.subjects.base import Subject
from heedful.counterfactual.adversarial import Adversarial
from heedful.text.documents import Document, Documents

NEUTRAL = [f"w{number}" for number in range(300)]
WORDS = ["good", "bad", *NEUTRAL]
SETTINGS = AuditSettings(search=Adversarial(steps=50, learning_rate=0.1), sampled_documents=50)


def made_up(count: int, seed: int) -> Documents:
    """Neutral words with the label among them."""
    rng = random.Random(seed)
    documents = []
    for _ in range(count):
        label = rng.choice(["bad", "good"])
        words = rng.choices(NEUTRAL, k=rng.randint(5, 11))
        words.insert(rng.randrange(len(words)), label)
        documents.append(Document(" ".join(words), label))
    return Documents(documents)


def tiny_bert() -> Subject:
    """Two layers of two heads, random numbers."""
    from transformers import BertConfig, BertForSequenceClassification
    from word_tokenizer import word_tokenizer

    from heedful.auditing.subjects.huggingface.loading import of_pair
    from heedful.auditing.subjects.huggingface.subject import subject_of
    from heedful.readouts import readouts

    tokenizer = word_tokenizer(WORDS)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=32, id2label={0: "bad", 1: "good"},
    )  # fmt: skip
    loaded = of_pair(BertForSequenceClassification(config), tokenizer)
    return subject_of(loaded.model, readouts.make("last-cls"), loaded.classes)


def small_bilstm() -> Subject:
    """Trained for two epochs on other documents."""
    from heedful.auditing.subjects.classifier import ClassifierSubject
    from heedful.estimator import Classifier

    trained_on = made_up(300, seed=1)
    encoder, recipe = "bilstm:hidden_size=16", "standard:epochs=2"
    classifier = Classifier(encoder, recipe=recipe, embedding_size=32)
    classifier.fit(trained_on.texts, trained_on.labels)
    return ClassifierSubject(classifier.trained_)


KINDS = {"hf": tiny_bert, "bilstm": small_bilstm}
NAMES = {"hf": "tiny BERT, `last-cls`", "bilstm": "BiLSTM(16) + additive"}


def peak() -> float:
    """The most memory that this process has held so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def of_one(kind: str, count: int) -> dict[str, float]:
    """Memory of one audit, in this process."""
    subject = KINDS[kind]()
    documents = made_up(count, seed=2)
    before, started = peak(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        parts = PartsInFolder(Path(folder) / "parts", {})
        found = audit(subject, documents, SETTINGS, request=AuditOptions(parts=parts))
        found.save(Path(folder) / "audit")
    return {"before": before, "after": peak(), "seconds": time.monotonic() - started}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, nargs="+", default=[500, 1000, 2000, 4000])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=[*KINDS])
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(of_one(options.kinds[0], options.documents[0])))
        return
    print(machine.describe())
    print("\n| model | documents | before, MB | peak, MB | seconds |\n|---|---|---|---|---|")
    for kind in options.kinds:
        for count in options.documents:
            asked = ["--alone", "--kinds", kind, "--documents", str(count)]
            done = subprocess.run(
                [sys.executable, __file__, *asked], capture_output=True, text=True, check=True
            )
            found = json.loads(done.stdout)
            print(
                f"| {NAMES[kind]} | {count:,} | {found['before']:.0f} | {found['after']:.0f} | "
                f"{found['seconds']:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
