import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from heedful.errors import ConfigError
from heedful.model.encoders import BiLSTM, SmallTransformer, encoders
from heedful.model.layers import turn_round
from heedful.model.recurrence import OrthogonalLSTM


def test_two_calls_with_a_turn_equal_a_packed_bidirectional_lstm():
    torch.manual_seed(0)
    ours = BiLSTM(hidden_size=5).build(4).double()
    packed = nn.LSTM(4, 5, batch_first=True, bidirectional=True).double()
    for name, value in ours.forwards.state_dict().items():
        getattr(packed, name).data.copy_(value)
    for name, value in ours.backwards.state_dict().items():
        getattr(packed, f"{name}_reverse").data.copy_(value)
    lengths = torch.tensor([6, 2, 4])
    embedded = torch.randn(3, 6, 4, dtype=torch.float64)
    is_token = torch.arange(6) < lengths[:, None]
    rows = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
    expected, _ = pad_packed_sequence(packed(rows)[0], batch_first=True)
    torch.testing.assert_close(ours(embedded, is_token), expected)


@pytest.mark.parametrize("layers", [2, 3])
def test_layers_equal_a_packed_lstm_of_as_many(layers):
    torch.manual_seed(0)
    ours = BiLSTM(hidden_size=5, layers=layers).build(4).double()
    packed = nn.LSTM(4, 5, layers, batch_first=True, bidirectional=True).double()
    for number, layer in enumerate(ours.layers):
        for part, end in ((layer.forwards, ""), (layer.backwards, "_reverse")):
            for name, value in part.state_dict().items():
                theirs = name.replace("_l0", f"_l{number}{end}")
                getattr(packed, theirs).data.copy_(value)
    lengths = torch.tensor([6, 2, 4])
    embedded = torch.randn(3, 6, 4, dtype=torch.float64)
    is_token = torch.arange(6) < lengths[:, None]
    rows = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
    expected, _ = pad_packed_sequence(packed(rows)[0], batch_first=True)
    torch.testing.assert_close(ours(embedded, is_token), expected)


def test_there_is_at_least_one_layer():
    with pytest.raises(ConfigError, match="layers should be from 1 to below"):
        BiLSTM(layers=0)


def test_turning_twice_gives_the_text_back():
    rows = torch.randn(3, 5, 2)
    is_token = torch.arange(5) < torch.tensor([5, 0, 3])[:, None]
    torch.testing.assert_close(turn_round(turn_round(rows, is_token), is_token), rows)
    torch.testing.assert_close(turn_round(rows, is_token)[2, :3], rows[2, :3].flip(0))


def test_orthogonal_states_are_at_right_angles_to_the_mean_of_those_before():
    torch.manual_seed(0)
    layer = OrthogonalLSTM(4, 8).double()
    states, _ = layer(torch.randn(2, 6, 4, dtype=torch.float64) * 3)
    for step in range(1, 6):
        mean = states[:, :step].mean(dim=1)
        cosine = nn.functional.cosine_similarity(states[:, step], mean)
        assert cosine.abs().max() < 1e-3


def test_the_first_orthogonal_state_is_a_plain_lstm_state():
    torch.manual_seed(0)
    ours, plain = OrthogonalLSTM(4, 3).double(), nn.LSTM(4, 3, batch_first=True).double()
    forget, enter, leave, candidate = ours.from_input.weight.chunk(4)
    order = [enter, forget, candidate, leave]  # PyTorch's order of gates
    plain.weight_ih_l0.data.copy_(torch.cat(order))
    forget, enter, leave, candidate = ours.from_input.bias.chunk(4)
    plain.bias_ih_l0.data.copy_(torch.cat([enter, forget, candidate, leave]))
    plain.bias_hh_l0.data.zero_()
    word = torch.randn(2, 1, 4, dtype=torch.float64)
    torch.testing.assert_close(ours(word)[0], plain(word)[0])


def test_concat_appends_the_embedding_and_residual_adds_it():
    embedded = torch.randn(1, 3, 6)
    is_token = torch.ones(1, 3, dtype=torch.bool)
    torch.manual_seed(0)
    plain = encoders.make("bilstm:hidden_size=3").build(6)(embedded, is_token)
    torch.manual_seed(0)
    concat = encoders.make("bilstm:hidden_size=3:skip=concat").build(6)
    torch.manual_seed(0)
    residual = encoders.make("bilstm:hidden_size=3:skip=residual").build(6)
    assert concat.output_size == 12
    torch.testing.assert_close(concat(embedded, is_token), torch.cat([plain, embedded], dim=-1))
    torch.testing.assert_close(residual(embedded, is_token), plain + embedded)


def test_a_residual_of_another_size_is_refused_with_both_sizes():
    with pytest.raises(ConfigError, match="the encoder has 256, embeddings have 300"):
        encoders.make("bilstm:skip=residual").build(300)


def test_sparse_projections_work_inside_self_attention():
    torch.manual_seed(0)
    dense = SmallTransformer(self_projection="softmax").build(10).eval()
    sparse = SmallTransformer(self_projection="sparsegen:sparsity=0.5").build(10).eval()
    sparse.load_state_dict(dense.state_dict())
    embedded, is_token = torch.randn(2, 5, 10), torch.ones(2, 5, dtype=torch.bool)
    assert not torch.allclose(dense(embedded, is_token), sparse(embedded, is_token))


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("cnn:kernel_sizes=2+3", "kernel_sizes should be odd numbers, not '2\\+3'"),
        ("transformer:hidden_size=10:heads=3", r"\(10\) must be divisible by heads \(3\)"),
        ("transformer:self_projection=sofmax", "no projection named 'sofmax'"),
        ("lstm:hidden_size=0", "hidden_size should be from 1 to below 65537, not 0"),
    ],
)
def test_wrong_options_are_refused_with_a_sentence(spec, sentence):
    with pytest.raises((ConfigError, KeyError), match=sentence):
        encoders.make(spec)
