"""The classifier that sees only the weights."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from heedful.auditing.questions import AuditSettings, leak_free


@pytest.mark.parametrize(("most", "expected"), [(40, 40), (160, None)])
def test_a_tree_is_shown_only_so_many_documents(most, expected, monkeypatch):
    """Of 200 documents in five folds, 160 are learnt from."""
    shown = []
    fit = RandomForestClassifier.fit

    def noted(self, *given, **more):
        shown.append(self.max_samples)
        return fit(self, *given, **more)

    monkeypatch.setattr(RandomForestClassifier, "fit", noted)
    monkeypatch.setattr(leak_free, "TREE_DOCUMENTS", most)
    labels = np.arange(200) % 2
    patterns = np.random.default_rng(0).random((200, 3)) + labels[:, None]
    hits, _ = leak_free._cross_fitted(patterns, labels, AuditSettings())
    assert shown == [expected] * 5
    assert hits.mean() > 0.95
