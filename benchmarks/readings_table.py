"""Every reading of a fine-tuned Transformer by what it tells, and which may be shown.

    python benchmarks/readings_table.py --data sst2 --pretrained FOLDER -o DIR [--documents 200]
    python benchmarks/readings_table.py --data sst2 --pretrained FOLDER -o DIR --decoder

A classifier is trained on the corpus by a plain loop: the encoder in FOLDER fine-tuned, or a GPT-2
of a few layers with random numbers at first, cut into pieces by FOLDER's tokenizer. It is kept in
DIR/model; one that is there already is not trained again. Then its readings are audited on
documents of the test part: those of its attention and every measure of importance. The audits are
kept in DIR/audits and not made again. Intervals are those of the audits: they hold for all readings
of attention together. Decomposition is compared with each reading on the same documents.
Prints a table in Markdown and writes DIR/readings_table.json; uses CUDA where there is a device.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import machine
import numpy as np
import torch
import transformers
from torch import nn
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    GPT2Config,
    GPT2ForSequenceClassification,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

import heedful
from heedful.auditing.alternatives import READINGS
from heedful.auditing.bootstrap import BootstrapSettings, estimate
from heedful.auditing.questions import AuditSettings
from heedful.auditing.results import plain
from heedful.auditing.run_audit import AuditPlan
from heedful.auditing.subjects.huggingface.audit_readings import audit_readings
from heedful.auditing.subjects.huggingface.loading import of_pair
from heedful.auditing.subjects.huggingface.readings import ReadingAudits, subjects_of
from heedful.importance import importances
from heedful.storage import json_bytes, write_atomically
from heedful.text.documents import Documents

ATTENTION, BY_CHANCE, BEST = "attention", "random", "decomposition"
TOLD = "comprehensiveness"
FURTHER = ("decomposition-with-biases",)  # beside those of every audit
# GPT-2 would add the embedding of piece 0 for every segment number.
WITHOUT_SEGMENTS = ["input_ids", "attention_mask"]
KEPT = (
    "comprehensiveness", "low", "high", "false_pictures", "false_low", "false_high", "documents",
    "random_model", "incompleteness", "judgement",
)  # fmt: skip


def new_classifier(
    folder: str, classes: list[str], longest: int, decoder_layers: int, width: int
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """A pretrained encoder with a new classifier on top, or a new decoder if it has any layers."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.model_max_length = longest
    named = {
        "id2label": dict(enumerate(classes)),
        "label2id": {name: number for number, name in enumerate(classes)},
    }
    if not decoder_layers:
        return AutoModelForSequenceClassification.from_pretrained(folder, **named), tokenizer
    tokenizer.model_input_names = WITHOUT_SEGMENTS
    config = GPT2Config(
        vocab_size=len(tokenizer), n_positions=longest, n_embd=width, n_layer=decoder_layers,
        n_head=4, pad_token_id=tokenizer.pad_token_id, bos_token_id=None, eos_token_id=None,
        **named,
    )  # fmt: skip
    return GPT2ForSequenceClassification(config), tokenizer


def batches(count: int, size: int, epochs: int, seed: int) -> Iterator[list[int]]:
    """Every document once an epoch, in random order."""
    rng = np.random.default_rng(seed)
    for _ in range(epochs):
        order = rng.permutation(count).tolist()
        yield from (order[start : start + size] for start in range(0, count, size))


def train(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, documents: Documents,
    classes: list[str], epochs: int, rate: float, seed: int,
) -> None:  # fmt: skip
    """AdamW; the rate rises over the first tenth of the steps and then falls to zero."""
    labels = torch.tensor([classes.index(str(label)) for label in documents.labels])
    rows_of = list(batches(len(documents), 32, epochs, seed))
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    warm = max(1, len(rows_of) // 10)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, (len(rows_of) - step) / len(rows_of))
    )
    model.train()
    for rows in rows_of:
        texts = [documents.texts[row] for row in rows]
        batch = tokenizer(texts, padding=True, truncation=True, return_tensors="pt")
        logits = model(**batch.to(model.device)).logits
        loss = nn.functional.cross_entropy(logits, labels[rows].to(model.device))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    model.eval()


def shortened(documents: Documents, words: int | None) -> Documents:
    """The first words of each text, as spaces separate them; all of them if None."""
    return Documents(
        replace(one, text=" ".join(one.text.split()[:words]), rationale=None, word_labels=None)
        if words is not None
        else one
        for one in documents
    )


def trained_classifier(
    given: argparse.Namespace, documents: Documents
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The one in DIR/model, which is trained now if there is none."""
    folder = given.output / "model"
    if not folder.is_dir():
        classes = sorted({str(label) for label in documents.labels})
        chosen = np.random.default_rng(given.seed).permutation(len(documents))
        learnt = documents.take(chosen[: given.train_documents].tolist())
        torch.manual_seed(given.seed)
        model, tokenizer = new_classifier(
            given.pretrained, classes, given.longest,
            given.layers if given.decoder else 0, given.width,
        )  # fmt: skip
        model.to("cuda" if torch.cuda.is_available() else "cpu")
        rate = 5e-4 if given.decoder else 1e-4
        train(model, tokenizer, learnt, classes, given.epochs, rate, given.seed)
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    if given.decoder:
        tokenizer.model_input_names = WITHOUT_SEGMENTS
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    return model.eval(), tokenizer


def rows_of(audits: ReadingAudits) -> list[dict[str, Any]]:
    """A row per reading, best first: attention read in several ways, and measures of importance.

    Measures are the same beside every readout, but for those that look at its weights; they are
    taken from the audit of the first.
    """
    rows = []
    best = next(iter(audits.audits.values())).columns[f"{TOLD}_{BEST}"]
    for place, (name, audit) in enumerate(audits.audits.items()):
        for row in audit.evidence["measures"]:
            if row["measure"] == ATTENTION:
                named = {"reading": f"attention, {name}", "verdict": audit.verdict}
            elif place == 0:
                named = {"reading": row["measure"], "verdict": row["verdict"]}
            else:
                continue
            ahead = estimate(
                best - audit.columns[f"{TOLD}_{row['measure']}"],
                np.random.default_rng(0),
                BootstrapSettings(level=audit.about["interval_level"]),
            )
            named |= {"decomposition_ahead_by": (ahead.mean, *ahead.interval)}
            rows.append(named | {key: row[key] for key in KEPT})
    return sorted(rows, key=lambda row: -row["comprehensiveness"])


def markdown(rows: list[dict[str, Any]]) -> str:
    """The table."""

    def line(row: dict[str, Any]) -> str:
        true, low, high = (1 - row[k] for k in ("false_pictures", "false_high", "false_low"))
        random = "" if row["random_model"] is None else f"{row['random_model']:.2f}"
        verdict = "" if row["reading"] == BY_CHANCE else READINGS[row["verdict"]]
        ahead, from_, to = row["decomposition_ahead_by"]
        difference = "" if row["reading"] == BEST else f"{ahead:.3f} [{from_:.3f}, {to:.3f}]"
        return (
            f"| {row['reading']} | {row['comprehensiveness']:.3f} [{row['low']:.3f}, "
            f"{row['high']:.3f}] | {difference} | {true:.0%} [{low:.0%}, {high:.0%}] | {random} | "
            f"{verdict.replace('have', 'has')} |"
        )

    head = (
        "| reading | comprehensiveness | decomposition ahead by | true pictures | "
        "like random weights | verdict |"
    )
    return "\n".join([head, "|---|---|---|---|---|---|", *map(line, rows)])


def main() -> None:
    """Train, audit, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="a corpus, as heedful.load names it")
    parser.add_argument("--pretrained", required=True, help="folder of an encoder, its tokenizer")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--documents", type=int, default=200, help="that are audited")
    parser.add_argument("--budget", type=float, help="seconds: as many documents as fit")
    parser.add_argument("--train-documents", type=int, help="at random; default: all")
    parser.add_argument("--test-documents", type=int, help="at random; default: all")
    parser.add_argument("--longest", type=int, default=128, help="pieces that are read of a text")
    parser.add_argument("--decoder", action="store_true", help="train a GPT-2 from random numbers")
    parser.add_argument("--layers", type=int, default=3, help="of the decoder")
    parser.add_argument("--epochs", type=int, default=3, help="of training")
    parser.add_argument("--ask", default="decisive,telling", help="questions, by commas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--width", type=int, default=256, help="of the decoder's states")
    parser.add_argument("--words", type=int, help="of each text: only the first are kept")
    parser.add_argument("--readouts", help="of attention, by commas; default: the usual ones")
    parser.add_argument("--sampled", type=int, default=300, help="documents of costly measures")
    parser.add_argument("--replaced", type=int, default=100, help="documents of other checks")
    parser.add_argument("--only-train", action="store_true", help="audit with another call")
    given = parser.parse_args()
    corpus = heedful.load(given.data)
    started, cpu = time.monotonic(), time.process_time()
    model, tokenizer = trained_classifier(given, shortened(corpus.train, given.words))
    training = {
        "seconds": round(time.monotonic() - started, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
    }
    if given.only_train:
        print(f"trained: {training}")
        return
    started, cpu = time.monotonic(), time.process_time()
    loaded = of_pair(model, tokenizer, "decoder" if given.decoder else "encoder")
    chosen = np.random.default_rng(given.seed).permutation(len(corpus.test))
    tested = corpus.test.take(chosen[: given.test_documents].tolist())
    loaded, documents, _ = loaded.with_labels_of(shortened(tested, given.words))
    answers = loaded.model.probabilities(documents.texts).argmax(axis=1)
    labels = [loaded.classes.index(label) for label in documents.labels]
    readouts = given.readouts.split(",") if given.readouts else None
    subjects, notes = subjects_of(loaded, readouts)
    subjects = {
        name: one.with_measures([m for m in FURTHER if importances[m].needs <= one.gives])
        for name, one in subjects.items()
    }
    settings = AuditSettings(
        seed=given.seed, sampled_documents=given.sampled, replaced_documents=given.replaced
    )
    plan = AuditPlan(settings, given.ask.split(","), given.documents, given.budget)
    folder = given.output / "audits"
    if folder.is_dir():
        audits = ReadingAudits.load(folder, subjects)
    else:
        audits = audit_readings(loaded, subjects, documents, plan)
        audits.save(folder)
    rows, first = rows_of(audits), next(iter(audits.audits.values()))
    auditing = {
        "seconds": round(time.monotonic() - started, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
    }
    options = {name: value for name, value in vars(given).items() if not isinstance(value, Path)}
    found = {
        **options, "model": type(model).__name__, "model_layers": loaded.model.layers,
        "test_accuracy": float(np.mean(answers == np.array(labels))),
        "test_documents": len(documents),
        "audited": len(first.texts), "interval_level": first.about["interval_level"],
        "sentence": audits.sentence, "instead": audits.instead,
        "chosen": audits.audits[audits.best].evidence["instead"],
        "notes": [*notes, *audits.notes], "machine": machine.describe(),
        "transformers": transformers.__version__, "training": training, "auditing": auditing,
        "readings": rows,
    }  # fmt: skip
    write_atomically(given.output / "readings_table.json", json_bytes(plain(found), indent=1))
    print(found["machine"])
    print(
        f"{found['model']} of {found['model_layers']} layers on {given.data}, seed {given.seed}: "
        f"{found['test_accuracy']:.1%} of {len(documents):,} test documents right; "
        f"{len(first.texts)} audited in {auditing['cpu_seconds']:.0f} CPU s, intervals at "
        f"{found['interval_level']:.1%}\n"
    )
    print(markdown(rows))
    print(f"\n{audits.sentence}\n{audits.instead}")


if __name__ == "__main__":
    main()
