"""Readouts, word by word, by hand."""

import pytest
import torch

from heedful.errors import ConfigError
from heedful.readouts import Attended, readouts
from heedful.readouts.pooling import pool_to_words, sum_over_pieces

FIRST_ROW = torch.tensor([[True, False, False]])


def attended(*layers: list[list[float]], is_read=FIRST_ROW, **more) -> Attended:
    """Layers of one head each."""
    return Attended([torch.tensor(layer)[None, None] for layer in layers], is_read, **more)


LOWER = [[0.2, 0.5, 0.3], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
UPPER = [[0.0, 0.4, 0.6], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]


def test_rows_by_hand():
    both = attended(LOWER, UPPER)
    torch.testing.assert_close(readouts.make("last-cls")(both), torch.tensor([[0.0, 0.4, 0.6]]))
    torch.testing.assert_close(
        readouts.make("mean-layers")(both), torch.tensor([[0.1, 0.45, 0.45]])
    )
    torch.testing.assert_close(
        readouts.make("head:layer=0:head=0")(both), torch.tensor([[0.2, 0.5, 0.3]])
    )


def test_rollout_by_hand():
    # half of each layer passes unchanged: row 0 of the upper one is (.5, .2, .3), of the lower
    # one (.6, .25, .15), and the states of the other positions stay: (.5*.6, .5*.25+.2, .5*.15+.3)
    found = readouts.make("rollout")(attended(LOWER, UPPER))
    torch.testing.assert_close(found, torch.tensor([[0.3, 0.325, 0.375]]))
    alone = readouts.make("rollout:residual=0")(attended(UPPER))
    torch.testing.assert_close(alone, torch.tensor([[0.0, 0.4, 0.6]]))


def test_gradients_and_values_by_hand():
    slopes = [torch.tensor([[9.0, -1.0, 2.0], [0, 0, 0], [0, 0, 0]])[None, None]]
    with_slopes = attended(LOWER, gradients=slopes)
    found = readouts.make("attention-x-gradient")(with_slopes)
    torch.testing.assert_close(found, torch.tensor([[1.8, 0.5, 0.6]]))
    values = [torch.tensor([[3.0, 4.0], [0.0, 1.0], [2.0, 0.0]])[None, None]]
    found = readouts.make("value-norm")(attended(LOWER, values=values))
    torch.testing.assert_close(found, torch.tensor([[1.0, 0.5, 0.6]]))


def test_heads_that_share_their_values_each_get_them():
    layer = torch.tensor(LOWER).expand(1, 4, 3, 3)
    values = torch.ones(1, 2, 3, 1) * torch.tensor([1.0, 3.0])[None, :, None, None]
    found = readouts.make("value-norm")(Attended([layer], FIRST_ROW, [values]))
    torch.testing.assert_close(found, 2 * torch.tensor([[0.2, 0.5, 0.3]]))


def test_where_states_are_averaged_rows_are():
    found = readouts.make("last-cls")(attended(LOWER, is_read=torch.tensor([[True, True, False]])))
    torch.testing.assert_close(found, torch.tensor([[0.1, 0.75, 0.15]]))


def test_a_head_that_the_model_has_not_is_refused():
    with pytest.raises(ConfigError, match="no layer 5: the model has 3 layers, numbered from 0"):
        readouts.make("head:layer=5").layers(3)
    with pytest.raises(ConfigError, match="no head 4: each layer has 4 heads"):
        readouts.make("head:head=4").heads(4)


def test_pieces_are_summed_and_special_positions_never_ranked():
    scores = torch.tensor([[0.5, 0.1, 0.2, 0.1, 0.1]])
    word_of = torch.tensor([[-1, 0, 1, 1, -1]])
    torch.testing.assert_close(sum_over_pieces(scores, word_of, 3), torch.tensor([[0.1, 0.3, 0.0]]))
    torch.testing.assert_close(
        pool_to_words(scores, word_of, 3).float(), torch.tensor([[0.25, 0.75, 0.0]])
    )


def test_words_without_any_weight_share_evenly():
    word_of = torch.tensor([[-1, 0, 1, -1]])
    found = pool_to_words(torch.tensor([[1.0, 0.0, 0.0, 0.0]]), word_of, 3)
    torch.testing.assert_close(found.float(), torch.tensor([[0.5, 0.5, 0.0]]))
