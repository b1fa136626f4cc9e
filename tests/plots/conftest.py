"""Rows of a made-up audit, in the shapes that figures are drawn from."""

import numpy as np
import pandas as pd
import pytest

from tests.report.audits import made_audit


@pytest.fixture(scope="module")
def documents() -> pd.DataFrame:
    audit = made_audit()
    frame = pd.DataFrame(audit.columns).assign(prediction=list(audit.predictions))
    return frame.dropna()


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    tables = {
        name: pd.DataFrame([dict(row) for row in rows if row.get("word") != "\ud83d"])
        for name, rows in made_audit().evidence.items()
    }
    return tables


@pytest.fixture(scope="module")
def scores() -> pd.DataFrame:
    rows = [
        {
            "run": run,
            "question": test.question,
            "test": test.name,
            "score": test.score.score,
            "low": test.score.interval[0],
            "high": test.score.interval[1],
            "cut": 0.5 if test.name == "comprehensiveness" else np.nan,
            "judgement": test.judgement,
            "accuracy": accuracy,
        }
        for run, honesty, accuracy in (("one", 0.1, 0.9), ("two", 0.9, 0.8))
        for answer in made_audit(honesty).answers
        for test in answer.tests
    ]
    return pd.DataFrame(rows)
