"""Which documents are sampled for costly measures."""

import numpy as np
import pytest

from heedful.auditing.questions import AuditSettings
from heedful.auditing.sampling import Sampled, planned
from heedful.text.documents import Document, Documents

DOCUMENTS = Documents(Document(f"some text {number}") for number in range(600))


def sampled(settings):
    waves = planned(DOCUMENTS, settings, None)
    found = Sampled(DOCUMENTS, settings)
    for wave in waves:
        found.add(wave)
    return found.of(np.arange(len(DOCUMENTS)))


def test_a_sample_of_a_sorted_file_is_from_all_of_it():
    settings = AuditSettings(sampled_documents=200, replaced_documents=20)
    found = sampled(settings)
    assert found.is_costly.sum() == 200
    assert found.is_replaced.sum() == 20
    assert np.flatnonzero(found.is_costly).mean() == pytest.approx(300, abs=40)
    assert not (found.is_replaced & ~found.is_costly).any()


def test_the_same_seed_draws_the_same_sample():
    first, again, other = (sampled(AuditSettings(seed=seed)) for seed in (1, 1, 2))
    assert (first.is_costly == again.is_costly).all()
    assert (first.is_costly != other.is_costly).any()
