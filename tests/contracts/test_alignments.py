"""Rules that every alignment keeps, new ones included."""

import pytest
import torch

from heedful.model.alignments import alignments

every_alignment = pytest.mark.parametrize("name", alignments)


@every_alignment
def test_the_score_of_a_token_depends_on_its_key_alone(name):
    align = alignments.make(name).build(6)
    keys = torch.randn(2, 5, 6)
    order = torch.randperm(5)
    torch.testing.assert_close(align(keys[:, order]), align(keys)[:, order])


@every_alignment
def test_scale_divides_the_scores(name):
    keys = torch.randn(2, 5, 6)
    torch.manual_seed(0)
    plain = alignments.make(f"{name}:scale=1").build(6)
    torch.manual_seed(0)
    scaled = alignments.make(f"{name}:scale=10").build(6)
    torch.testing.assert_close(scaled(keys) * 10, plain(keys))


@every_alignment
def test_a_given_query_changes_the_scores(name):
    align = alignments.make(name).build(6, query_size=4)
    keys = torch.randn(2, 5, 6)
    one, other = align(keys, torch.randn(2, 4)), align(keys, torch.randn(2, 4))
    assert one.shape == (2, 5)
    assert not torch.allclose(one, other)
