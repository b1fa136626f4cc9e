"""What model tests draw: rows of scores with padding."""

import numpy as np
import torch
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch import Tensor


@st.composite
def score_rows(draw: st.DrawFn, distinct: bool = False) -> Tensor:
    rows, tokens = draw(st.integers(1, 4)), draw(st.integers(1, 9))
    if distinct:
        ranks = [draw(st.permutations(range(tokens))) for _ in range(rows)]
        step = draw(st.floats(0.05, 3.0))
        return torch.tensor(ranks, dtype=torch.float64) * step
    values = st.floats(-30, 30, allow_subnormal=False)
    return torch.from_numpy(draw(arrays(np.float64, (rows, tokens), elements=values)))


def all_tokens(scores: Tensor) -> Tensor:
    return torch.ones_like(scores, dtype=torch.bool)


def pad(scores: Tensor, columns: int) -> tuple[Tensor, Tensor]:
    """Scores with columns of junk behind them, and the mask that tells."""
    junk = torch.full((scores.shape[0], columns), 99.0, dtype=scores.dtype)
    padded = torch.cat([scores, junk], dim=1)
    is_token = torch.cat([all_tokens(scores), all_tokens(junk) & False], dim=1)
    return padded, is_token
