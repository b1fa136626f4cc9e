"""A decoder and a prompt as a classifier: class probabilities are those of the next token.

    template with {text} ──> decoder ──> logits of the next token ──> those of the label words

The probabilities of the label words are scaled to sum to 1. Where a label word is several pieces,
its first stands for it; label words that begin with the same piece are refused. The template's
pieces belong to no word: only the text is read out, deleted and explained.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.modeling_outputs import SequenceClassifierOutput

from heedful.errors import ConfigError, RunError
from heedful.model.hub import HubSource

PLACE = "{text}"


@dataclass(frozen=True)
class Prompt:
    """What stands around a text, and the word that each class is answered by."""

    before: str
    behind: str
    words: Mapping[str, str]  # by class

    @classmethod
    def of(cls, template: str | None, label_words: str | None) -> "Prompt":
        """From "Review: {text}\\nSentiment:" and "bad,good" or "negative=bad,positive=good"."""
        if template is None or label_words is None:
            raise ConfigError(
                "a prompted model needs both a template and label words, such as --template "
                "'Review: {text} Sentiment:' --label-words negative,positive."
            )
        if template.count(PLACE) != 1:
            raise ConfigError(
                f"the template should hold {PLACE} once, where the text goes; this one holds it "
                f"{template.count(PLACE)} times: {template!r:.80}."
            )
        if template != template.rstrip(" \t"):
            raise ConfigError(
                "the template should not end with a space: tokenizers attach it to the next word. "
                "The label word is added after a space, or directly after a line break."
            )
        before, behind = template.split(PLACE)
        pairs = [part.partition("=") for part in label_words.split(",")]
        words = {name.strip(): (word if sign else name).strip() for name, sign, word in pairs}
        if len(words) < 2 or len(words) < len(pairs) or not all(words.values()):
            raise ConfigError(
                f"expected two or more different label words, separated by commas, not "
                f"{label_words!r:.80}. To give a class another name, write negative=bad."
            )
        return cls(before, behind, words)

    @property
    def answers(self) -> list[str]:
        """What the decoder would write next, by class."""
        gap = "" if self.behind.endswith("\n") else " "
        return [f"{gap}{word}" for word in self.words.values()]


class PromptedDecoder(PreTrainedModel):
    """A decoder whose logits are those of the label words as the next token."""

    # The decoder itself was asked when it was loaded.
    _supports_sdpa = _supports_flash_attn = _supports_flex_attn = True
    _supports_attention_backend = True

    def __init__(self, decoder: PreTrainedModel, label_pieces: Sequence[int]) -> None:
        super().__init__(decoder.config)
        self.decoder = decoder
        self.register_buffer("label_pieces", torch.tensor(label_pieces))

    @property
    def base_model(self) -> nn.Module:
        """The decoder without its output layer."""
        return self.decoder.base_model

    def get_input_embeddings(self) -> nn.Module:
        """Of the decoder."""
        return self.decoder.get_input_embeddings()

    def forward(
        self,
        input_ids: Int[Tensor, "batch positions"],
        attention_mask: Int[Tensor, "batch positions"],
    ) -> SequenceClassifierOutput:
        """Padding stands on the left, so that the next token follows the last position."""
        order = torch.arange(input_ids.shape[1], device=input_ids.device)
        first = attention_mask.argmax(dim=1, keepdim=True)  # a hidden word keeps its place
        logits = self.decoder(
            input_ids=input_ids,
            attention_mask=attention_mask,
            position_ids=(order - first).clamp(min=0),
            use_cache=False,
            logits_to_keep=1,
        ).logits[:, -1]
        return SequenceClassifierOutput(logits=cast(Any, self._of_labels(logits)))

    def _of_labels(
        self, logits: Float[Tensor, "batch vocabulary"]
    ) -> Float[Tensor, "batch classes"]:
        return logits[:, cast(Tensor, self.label_pieces)]


def load_prompted(name: str, prompt: Prompt) -> tuple[PromptedDecoder, PreTrainedTokenizerBase]:
    """The decoder in a local folder, or of that name on the hub, asked by a prompt."""
    source = HubSource(name)
    config = source.fetch("config", AutoConfig.from_pretrained)
    kinds = list(getattr(config, "architectures", None) or [])
    is_decoder = any(part in kind for kind in kinds for part in ("CausalLM", "LMHeadModel"))
    if getattr(config, "is_encoder_decoder", False) or not is_decoder:
        raise ConfigError(
            f"{name} is a {', '.join(kinds) or config.model_type}. Expected a decoder that writes "
            "text (…ForCausalLM); a sequence classifier is given as hf:."
        )
    load: Callable[..., Any] = AutoModelForCausalLM.from_pretrained
    decoder, told = source.fetch("weights", load, use_safetensors=True, output_loading_info=True)
    if missing := sorted(told["missing_keys"]):
        lacking = ", ".join(missing[:3])
        raise RunError(f"the weights of {name} lack {lacking}: they would be random.")
    tokenizer = source.fetch("tokenizer", AutoTokenizer.from_pretrained)
    return prompted(decoder, tokenizer, prompt), tokenizer


def prompted(
    decoder: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, prompt: Prompt
) -> PromptedDecoder:
    """A decoder asked by a prompt. Its tokenizer pads on the left from now on."""
    tokenizer.padding_side = "left"
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    decoder.config.id2label = dict(enumerate(prompt.words))
    decoder.config.label2id = {label: number for number, label in enumerate(prompt.words)}
    model = PromptedDecoder(decoder, label_pieces(tokenizer, prompt))
    model.train(False)
    return model


def label_pieces(tokenizer: PreTrainedTokenizerBase, prompt: Prompt) -> list[int]:
    """The first piece of each label word, where it would stand; refused if two are the same."""
    tail = prompt.behind or "a"  # some word, so that the label word does not stand first
    before = _pieces(tokenizer, tail)
    found: dict[int, str] = {}
    for answer in prompt.answers:
        pieces = _pieces(tokenizer, tail + answer)
        if pieces[: len(before)] != before or len(pieces) == len(before):
            raise ConfigError(
                f"the label word {answer.strip()!r} is merged with the end of the template into "
                "one token "
                f"({tail[-20:]!r}): end the template with a word, a punctuation mark or a line "
                "break."
            )
        piece = pieces[len(before)]
        if piece == tokenizer.unk_token_id:
            raise ConfigError(
                f"the tokenizer does not know the label word {answer.strip()!r}. Choose another."
            )
        if piece in found:
            raise ConfigError(
                f"the label words {found[piece]!r} and {answer.strip()!r} begin with the same "
                f"piece, {tokenizer.convert_ids_to_tokens(piece)!r}, so the next token cannot "
                "distinguish them. Choose others."
            )
        found[piece] = answer.strip()
    return list(found)


def _pieces(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False).input_ids) if text else []
