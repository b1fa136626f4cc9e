import torch

from heedful.model.alignments import alignments


def test_v_starts_as_wide_as_it_is_told():
    torch.manual_seed(0)
    wide = alignments.make("additive:width=2000:spread=1.0").build(4).outer.weight.detach()
    assert abs(float(wide.std()) - 1.0) < 0.1
    usual = alignments.make("additive:width=2000").build(4).outer.weight.detach()
    assert float(usual.abs().max()) <= 2000**-0.5


def test_a_learned_query_starts_as_near_as_it_is_told():
    torch.manual_seed(0)
    near = alignments.make("dot:start=0.0625").build(2000).query.vector.detach()
    assert 0.06 < float(near.abs().max()) <= 0.0625
    usual = alignments.make("dot").build(2000).query.vector.detach()
    assert abs(float(usual.std()) - 1.0) < 0.1
