import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import masking_utils

from heedful.errors import TrainingDiverged
from heedful.model.build import build_model
from heedful.text.batching import Batch, Batches
from heedful.text.vocabulary import Encoded
from heedful.training import deletion_penalties
from heedful.training.gpu_steps import STEPS_BETWEEN_LOOKS, EpochLoss, PretrainedSteps
from heedful.training.recipe import Material, by_label
from heedful.training.recipes import Faithful
from heedful.training.settings import Settings
from tests.model.tiny_pretrained import pieces_of, tiny_source

CPU, GPU = torch.device("cpu"), torch.device("cuda")
ASKING = ("_local_scalar_dense", "nonzero", "masked_select", "equal", "unique", "bincount")


class OnGPU(TorchDispatchMode):
    """Takes some tensors, and all that is made of them, for a GPU's: none of them may be asked."""

    def __init__(self, *tensors: Tensor) -> None:
        super().__init__()
        for tensor in tensors:
            tensor.is_there = True

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name, leaves = func.overloadpacket.__name__, tree_leaves((args, kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        is_there = any(hasattr(tensor, "is_there") for tensor in tensors)
        is_index = name in ("index", "index_put", "index_put_")
        by_mask = is_index and any(
            t.dtype == torch.bool for t in tree_leaves(args[1]) if t is not None
        )
        if is_there and (name.startswith(ASKING) or by_mask):
            raise AssertionError(f"{name} asks a GPU for its numbers")
        made = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(made):
            if is_there and isinstance(leaf, Tensor):
                leaf.is_there = True
        return made


def on_gpu(model: nn.Module, batch: Batch) -> OnGPU:
    of_batch = [value for value in vars(batch).values() if isinstance(value, Tensor)]
    return OnGPU(*of_batch, *model.parameters(), *model.buffers())


def some_documents(documents=8, pieces=True) -> Batches:
    rng = np.random.default_rng(3)
    starts = np.concatenate([[0], rng.integers(1, 9, documents).cumsum()])
    ids = rng.integers(4, 30, starts[-1])
    labels = np.arange(documents) % 2
    encoded = Encoded(ids, starts, pieces=pieces_of(ids) if pieces else None)
    return Batches(encoded, labels, batch_size=documents)


def a_model(encoder):
    settings = Settings().with_(encoder=encoder, embedding_size=6, dropout=0.0)
    source = tiny_source(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    source = source if encoder == "pretrained" else None
    return build_model(settings.model, 30, 2, seed=1, pretrained=source)


ENCODERS = ["pretrained", "bilstm:hidden_size=4", "mlp"]


def a_step(model, objective, batch):
    """What an objective pulls at."""
    model.zero_grad()
    loss = objective(model, batch, torch.Generator().manual_seed(1))
    loss.backward()
    return loss, [p.grad.clone() for p in model.parameters() if p.grad is not None]


def objectives(recipe, model, documents):
    return [phase.objective for phase in recipe.phases(model, Material(documents, (), classes=2))]


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("replaced", [0.0, 1.0])
def test_nothing_is_asked_in_a_step_and_the_answer_is_the_same(encoder, replaced, monkeypatch):
    documents, model = some_documents(pieces=encoder == "pretrained"), a_model(encoder)
    recipe = Faithful(drop_weight=0.3, replaced_share=replaced, deletions=2, ranked_share=1.0)
    batch = documents.whole()
    for objective in (by_label, *objectives(recipe, model, documents)):
        loss, pulled = a_step(model, objective, batch)
        with monkeypatch.context() as patch:
            patch.setattr(deletion_penalties, "may_be_asked", lambda tensor: False)
            # It looks at its mask, unless it is recorded.
            patch.setattr(masking_utils, "is_tracing", lambda *_: True)
            with on_gpu(model, batch):
                ours, pulled_too = a_step(model, objective, batch)
        torch.testing.assert_close(ours, loss)
        for one, other in zip(pulled_too, pulled, strict=True):
            torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-4)


def test_what_asks_a_gpu_is_seen():
    model, batch = a_model("pretrained"), some_documents().whole()
    with on_gpu(model, batch), pytest.raises(AssertionError, match="asks a GPU"):
        model.read(model.embed(batch), batch.is_token)  # nobody says how long the rows are
    with on_gpu(model, batch), pytest.raises(AssertionError, match="index asks a GPU"):
        batch.token_ids[batch.is_token]


def test_the_epoch_loss_is_the_mean_over_documents_and_read_seldom_on_a_gpu(monkeypatch):
    losses = EpochLoss(1, CPU)
    losses.add(torch.tensor(2.0), 3)
    losses.add(torch.tensor(4.0), 1)
    assert losses.mean() == (2 * 3 + 4) / 4
    looks, stack = [], torch.stack
    monkeypatch.setattr(torch, "stack", lambda found: looks.append(len(found)) or stack(found))
    seldom = EpochLoss(1, GPU)
    for _ in range(STEPS_BETWEEN_LOOKS + 1):
        seldom.add(torch.tensor(1.0), 2)
    assert looks == [STEPS_BETWEEN_LOOKS]
    assert seldom.mean() == 1.0


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_a_loss_that_is_no_number_ends_the_epoch_on_a_gpu_too(value):
    at_once, later, at_the_end = EpochLoss(3, CPU), EpochLoss(3, GPU), EpochLoss(3, GPU)
    with pytest.raises(TrainingDiverged, match=r"in epoch 3\. A lower"):
        at_once.add(torch.tensor(value), 1)
    at_the_end.add(torch.tensor(value), 1)
    with pytest.raises(TrainingDiverged, match=f"became {value} in"):
        at_the_end.mean()
    for step in range(STEPS_BETWEEN_LOOKS - 1):
        later.add(torch.tensor(value if step == 5 else 0.5), 1)
    with pytest.raises(TrainingDiverged):
        later.add(torch.tensor(0.5), 1)


def test_encoders_read_for_steps_only_while_steps_are_under_way(monkeypatch):
    model = a_model("pretrained")
    assert not PretrainedSteps(model, CPU, "auto").readers
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: True)
    for precision, is_rounded in (("auto", True), ("fp32", False)):
        steps = PretrainedSteps(model, GPU, precision)
        assert model.encoder.step_reader is None
        with steps.under_way():
            assert model.encoder.step_reader.is_rounded == is_rounded
        assert model.encoder.step_reader is None
