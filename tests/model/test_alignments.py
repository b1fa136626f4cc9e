import torch

from heedful.model.alignments import alignments


def test_v_starts_as_wide_as_it_is_told():
    torch.manual_seed(0)
    wide = alignments.make("additive:width=2000:spread=1.0").build(4).outer.weight.detach()
    assert abs(float(wide.std()) - 1.0) < 0.1
    usual = alignments.make("additive:width=2000").build(4).outer.weight.detach()
    assert float(usual.abs().max()) <= 2000**-0.5
