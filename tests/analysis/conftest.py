"""A classifier of words alone and one that reads context, trained on a small planted corpus."""

import pytest

from heedful.training.settings import Settings, profiles
from heedful.training.task import Task
from heedful.training.train import train
from heedful.training.trained import Trained

QUICK = {"embedding_size": 8, "dropout": 0.0, "split": "spaces", "min_documents": 1}


def quick(encoder: str, epochs: int = 2) -> Settings:
    return profiles["sun-lu"]().with_(
        encoder=encoder, optimizer="adam:learning_rate=0.05", recipe=f"standard:epochs={epochs}",
        **QUICK,
    )  # fmt: skip


@pytest.fixture(scope="session")
def words_only(planted) -> Trained:
    return train(Task.from_corpus(planted, {}), quick("embedding"))


@pytest.fixture(scope="session")
def in_context(planted) -> Trained:
    return train(Task.from_corpus(planted, {}), quick("lstm:hidden_size=6"))
