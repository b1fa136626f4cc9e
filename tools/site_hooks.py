"""Hooks of mkdocs: the files of the repository's root that the site shows too."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
SHOWN = ("CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the root to those of docs/."""
    for name in SHOWN:
        text = (ROOT / name).read_text(encoding="utf-8")
        # What docs call ../SECURITY.md is a neighbour on the site, docs/x.md is x.md, and a folder
        # is nothing to open.
        text = re.sub(r"\[([^\]]+)\]\(docs/\w+\)", r"\1", text).replace("](docs/", "](")
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links from docs to the root, and to files of the source that the site does not show."""
    for name in SHOWN:
        markdown = markdown.replace(f"](../{name}", f"]({name}")
    return re.sub(r"\[([^\]]+)\]\((?:\.\./)+(?:src|tests|examples)/[^)]*\)", r"`\1`", markdown)
