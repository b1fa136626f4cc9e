"""Models of the Hugging Face hub: from a folder, or by name where there is a network.

Whatever cannot be had is refused with a sentence. Weights are read from safetensors only: nothing
is ever unpickled. Code that comes with a model is never run, and there is no option to allow it.
"""

import json
import os
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from heedful.errors import RunError, misfits_named

Part = TypeVar("Part")

HF = "hf:"  # before the folder or name of a model that is not a run of heedful
HF_PROMPT = "hf-prompt:"  # before that of a decoder that is asked by a prompt
TOKENIZER_FILES = (
    "tokenizer.json", "vocab.txt", "vocab.json", "spiece.model", "sentencepiece.bpe.model",
    "tokenizer.model", "spm.model",
)  # fmt: skip


class HubSource:
    """Where the parts of one model come from: a folder made by save_pretrained, or the hub."""

    def __init__(self, name: str) -> None:
        folder = Path(name)
        if folder.is_dir():
            check_folder(folder)
        elif folder.exists() or name.startswith((".", "/", "~")) or name.count("/") > 1:
            raise RunError(
                f"no such folder: {name}. Expected one made by save_pretrained, or a hub name."
            )
        self.name = name
        self.short_name = folder.resolve().name if folder.is_dir() else name
        self._is_local = folder.is_dir() or not _has_network()

    def fetch(self, part: str, load: Callable[..., Part], **options: bool | int) -> Part:
        """A part of the model, or why it cannot be had in a sentence."""
        with misfits_named(lambda told: self._refusal(part, told)):
            try:
                return load(
                    self.name, local_files_only=self._is_local, trust_remote_code=False, **options
                )
            except (OSError, ValueError, KeyError, ImportError) as error:
                if "trust_remote_code" in str(error):
                    raise RunError(self._wants_code(part)) from None
                raise

    def _refusal(self, part: str, told: str) -> RunError:
        if Path(self.name).is_dir():
            return RunError(f"the {part} of {self.name} cannot be read: {told}")
        return RunError(
            f"{self.name} is not a local folder, and its {part} cannot be downloaded from the hub "
            f"({told}) Without a network, download the model elsewhere and give its folder."
        )

    def _wants_code(self, part: str) -> str:
        """Why a part that cannot be loaded without the model's own code is refused."""
        files = ", ".join(code_files(Path(self.name))) or "its own code"
        return (
            f"the {part} of {self.name} cannot be loaded without running the Python that comes "
            f"with the model ({files}), and heedful never runs code from a model folder. If you "
            "have read that code and trust it, load the model and its tokenizer in Python with "
            "trust_remote_code=True and call heedful.audit(model, documents, tokenizer=tokenizer). "
            "For --pretrained, choose a model that transformers loads without such code."
        )


def code_files(folder: Path) -> list[str]:
    """The Python files that a model's folder names for classes of its own."""
    found: set[str] = set()
    for name in ("config.json", "tokenizer_config.json"):
        try:
            named = json.dumps(json.loads((folder / name).read_bytes())["auto_map"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
        found |= {f"{module}.py" for module in re.findall(r'"([\w/-]+)\.\w+"', named)}
    return sorted(found)


def check_folder(folder: Path) -> None:
    """A folder with a model and a tokenizer in it, none of it pickled."""
    files = {path.name for path in folder.iterdir()}
    if "config.json" not in files:
        raise RunError(
            f"{folder} contains no Hugging Face model: config.json is missing. Expected a folder "
            "made by save_pretrained."
        )
    if not any(name.endswith(".safetensors") for name in files):
        if any(name.endswith((".bin", ".pt", ".pth", ".ckpt")) for name in files):
            raise RunError(
                f"the weights in {folder} are pickled, and unpickling a file can run any code in "
                "it. If you trust it, convert it once, with the class that saved it: "
                f"AutoModelFor….from_pretrained('{folder}').save_pretrained('{folder}-safe') "
                "writes safetensors; save the tokenizer there too."
            )
        raise RunError(f"{folder} contains no weights: model.safetensors is missing.")
    if not files & set(TOKENIZER_FILES):
        raise RunError(
            f"{folder} contains no tokenizer. Save it there with "
            f"tokenizer.save_pretrained('{folder}')."
        )


def quieten() -> None:
    """Loading bars and log lines of transformers would stand between ours."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


def _has_network() -> bool:
    """Whether the hub can be reached; asked first, since its client tries again for half a minute.

    Behind a proxy only the client itself can tell.
    """
    if any(os.environ.get(name) for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY")):
        return True
    from huggingface_hub.constants import ENDPOINT

    address = urlsplit(ENDPOINT)
    try:
        socket.create_connection((address.hostname or "", address.port or 443), timeout=5).close()
    except OSError:
        return False
    return True
