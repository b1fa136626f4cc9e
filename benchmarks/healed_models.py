"""Heal fine-tuned classifiers of several architectures: are their decisions kept, may it be shown?

    python benchmarks/healed_models.py --pretrained FOLDER --architecture distilbert -o DIR

FOLDER holds a BERT encoder and its tokenizer. Its weights are written into a classifier of another
architecture that computes the same from them (`--architecture`; `--layers`: only the first ones),
which a plain loop then fine-tunes on the labels of a corpus. It is healed on the texts of the
training part without their labels, and the result is audited on test documents (`--part dev`: on
dev documents, to choose settings). Model, run and audit are kept in DIR; a model that is there is
not trained again. Prints one line and writes DIR/healed.json; uses CUDA where there is a device.
"""

import argparse
import re
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import machine
import numpy as np
import torch
from readings_table import shortened, train
from torch import Tensor
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, AutoTokenizer

import heedful
from heedful.auditing.questions import AuditSettings
from heedful.auditing.results import plain
from heedful.cli.parsing import settings_from
from heedful.runs import RunFolder
from heedful.storage import json_bytes, write_atomically
from heedful.text.documents import Corpus, Document, Documents, share_out
from heedful.training.heal import Healing, Patient, heal_settings
from heedful.training.trained import Trained

ASKED = ("decisive", "telling", "leak-free")  # what is judged
State = dict[str, Tensor]
DISTILBERT = (
    (r"encoder\.layer", "transformer.layer"),
    (r"attention\.self\.query", "attention.q_lin"),
    (r"attention\.self\.key", "attention.k_lin"),
    (r"attention\.self\.value", "attention.v_lin"),
    (r"attention\.output\.dense", "attention.out_lin"),
    (r"attention\.output\.LayerNorm", "sa_layer_norm"),
    (r"intermediate\.dense", "ffn.lin1"),
    (r"output\.dense", "ffn.lin2"),
    (r"output\.LayerNorm", "output_layer_norm"),
)


def as_bert(bert: State) -> State:
    """BERT's own names; ELECTRA's are the same."""
    return bert


def as_roberta(bert: State) -> State:
    """RoBERTa counts positions from behind its padding number, which is 0 here."""
    name = "embeddings.position_embeddings.weight"
    places = bert[name]
    return bert | {name: torch.cat([places[:1], places])[: len(places)]}


def as_distilbert(bert: State) -> State:
    """DistilBERT has other names, and no segments: their first vector is added to each position."""
    segment = bert["embeddings.token_type_embeddings.weight"][0]
    found = {}
    for name, value in bert.items():
        for pattern, ours in DISTILBERT:
            name = re.sub(pattern, ours, name)
        found[name] = value
    found["embeddings.position_embeddings.weight"] = (
        bert["embeddings.position_embeddings.weight"] + segment
    )
    del found["embeddings.token_type_embeddings.weight"]
    return found


ARCHITECTURES = {
    "bert": as_bert,
    "electra": as_bert,
    "roberta": as_roberta,
    "distilbert": as_distilbert,
}


def encoder_of(folder: str, architecture: str, layers: int | None) -> tuple[Any, State]:
    """Configuration and weights of an encoder that computes what the BERT in FOLDER does."""
    config = AutoConfig.from_pretrained(folder)
    kept = layers or config.num_hidden_layers
    weights = {
        name: value
        for name, value in AutoModel.from_pretrained(folder).state_dict().items()
        if not name.startswith("pooler")
        and not ((found := re.search(r"layer\.(\d+)\.", name)) and int(found[1]) >= kept)
    }
    sizes = {
        "vocab_size": config.vocab_size,
        "hidden_size": config.hidden_size,
        "num_hidden_layers": kept,
        "num_attention_heads": config.num_attention_heads,
        "intermediate_size": config.intermediate_size,
        "max_position_embeddings": config.max_position_embeddings,
        "pad_token_id": config.pad_token_id or 0,
    }
    if architecture == "distilbert":
        names = (
            "vocab_size",
            "dim",
            "n_layers",
            "n_heads",
            "hidden_dim",
            "max_position_embeddings",
        )
        sizes = dict(zip(names, sizes.values(), strict=False)) | {"pad_token_id": 0}
    elif architecture == "electra":
        sizes["embedding_size"] = config.hidden_size
    else:
        sizes["type_vocab_size"] = config.type_vocab_size
    made = AutoConfig.for_model(architecture, **sizes)
    return made, ARCHITECTURES[architecture](weights)


def fine_tuned(given: argparse.Namespace, documents: Any, folder: Path) -> None:
    """Fine-tune a classifier by a plain loop and save it with its tokenizer."""
    classes = sorted({str(label) for label in documents.labels})
    config, weights = encoder_of(given.pretrained, given.architecture, given.layers)
    config.id2label = dict(enumerate(classes))
    config.label2id = {name: number for number, name in enumerate(classes)}
    torch.manual_seed(given.seed)
    model = AutoModelForSequenceClassification.from_config(config)
    missing, unexpected = model.base_model.load_state_dict(weights, strict=False)
    assert not unexpected, unexpected
    assert all(name.startswith(("pooler", "embeddings.position_ids")) for name in missing), missing
    tokenizer = AutoTokenizer.from_pretrained(given.pretrained)
    tokenizer.model_max_length = given.longest
    if given.architecture == "distilbert":
        tokenizer.model_input_names = ["input_ids", "attention_mask"]
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    chosen = np.random.default_rng(given.seed).permutation(len(documents))
    learnt = documents.take(chosen[: given.train_documents].tolist())
    train(model, tokenizer, learnt, classes, given.epochs, given.rate, given.seed)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def unlabelled(documents: Documents) -> Documents:
    """The same texts without what people said of them."""
    return Documents(Document(text) for text in documents.texts)


def main() -> None:
    """Fine-tune, heal, audit, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="sst2", help="a corpus, as heedful.load names it")
    parser.add_argument("--pretrained", required=True, help="folder of a BERT encoder")
    parser.add_argument("--architecture", choices=ARCHITECTURES, default="bert")
    parser.add_argument("--layers", type=int, help="the first layers that are kept; default: all")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--train-documents", type=int, help="that it is fine-tuned on")
    parser.add_argument("--texts", type=int, help="that it is healed on, at most")
    parser.add_argument("--documents", type=int, default=300, help="that are audited")
    parser.add_argument("--longest", type=int, default=64, help="pieces that are read of a text")
    parser.add_argument("--words", type=int, help="of each text: only the first are kept")
    parser.add_argument("--epochs", type=int, default=2, help="of fine-tuning")
    parser.add_argument("--rate", type=float, default=1e-4, help="learning rate of fine-tuning")
    parser.add_argument("--part", choices=("dev", "test"), default="test", help="that is audited")
    parser.add_argument("--tune", action="store_true", help="as of heedful heal")
    parser.add_argument("--set", action="append", default=[], help="as of heedful heal")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only-train", action="store_true", help="heal with another call")
    given = parser.parse_args()
    corpus = heedful.load(given.data)
    learnt, tested = (
        shortened(part, given.words) for part in (corpus.train, getattr(corpus, given.part))
    )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, run = given.output / "model", given.output / "run"
    if not model.is_dir():
        fine_tuned(given, learnt, model)
    if given.only_train:
        return
    chosen = np.random.default_rng(given.seed + 1).permutation(len(learnt))
    texts = unlabelled(learnt.take(chosen[: given.texts].tolist()))
    began = time.monotonic(), time.process_time()
    chosen_settings = settings_from(
        heal_settings(str(model), given.tune), None, None, None, given.set, seed=given.seed
    )
    corpus = share_out(Corpus("texts", texts), 0.1, 0.1, seed=0)
    healing = Healing.prepare(
        Patient.load(str(model), torch.device(device)), corpus, chosen_settings, {}
    )
    healing.run(RunFolder.new(run), device)
    seconds = time.monotonic() - began[0], time.process_time() - began[1]
    trained = Trained.load(run, device)
    said = trained.decisions(tested.texts)
    labels = np.array([trained.classes.index(str(label)) for label in tested.labels])
    decided, shown = said.probabilities.argmax(1), said.by_attention.argmax(1)
    settings = AuditSettings(seed=given.seed)
    healed = heedful.Classifier.load(run, device=device)
    audit = heedful.audit(healed, tested, asked=ASKED, sample=given.documents, settings=settings)
    audit.save(given.output / "audit")
    tests = {
        test.name: asdict(test.score)
        for answer in audit.answers
        for test in answer.tests
        if test.score is not None
    }
    found = {
        **{k: v for k, v in vars(given).items() if not isinstance(v, Path)},
        "pretrained": Path(given.pretrained).name,
        "class": type(trained.original.model).__name__ if trained.original else "",
        "test_documents": len(labels),
        "model_accuracy": float(np.mean(decided == labels)),
        "attention_accuracy": float(np.mean(shown == labels)),
        "decisions_kept": float(np.mean(decided == shown)),
        "decisions_kept_of": len(labels),
        "audited": audit.documents,
        "verdict": audit.verdict,
        "tests": tests,
        "heal_seconds": round(seconds[0]),
        "heal_cpu_seconds": round(seconds[1]),
        "texts": len(texts),
        "machine": machine.describe(),
    }
    write_atomically(given.output / "healed.json", json_bytes(plain(found), indent=1))
    scores = ", ".join(f"{name} {score['score']:.2f}" for name, score in tests.items())
    print(
        f"{found['class']}: {found['model_accuracy']:.1%} right, {found['decisions_kept']:.1%} of "
        f"its decisions kept on {len(labels):,} test documents, {audit.verdict} ({scores}), "
        f"healed in {seconds[1]:.0f} CPU s"
    )


if __name__ == "__main__":
    main()
