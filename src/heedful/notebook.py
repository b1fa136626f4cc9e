"""What a notebook shows of an audit, an explanation and attention weights: HTML with its own style.

A fragment needs no network, no script and no other package, follows the theme of the notebook or of
the system, and holds nothing that a text could use to get out of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from heedful.auditing.next_step import next_steps
from heedful.heatmap import HeatLine, Piece, heat_map
from heedful.visible import visible

if TYPE_CHECKING:
    from heedful.auditing.results import Audit
    from heedful.importance.explanation import Explanation
    from heedful.training.trained import WordWeights

LIGHT = (
    "--ink:#1f2933;--quiet:#57606a;--line:#dcdfe4;--for:255 150 40;--against:90 160 255;"
    "--unsigned:70 190 148;--may:#00588a;--may-not:#a32a06;--not-safe:#6b5200"
)
DARK = (
    "--ink:#e8eaed;--quiet:#a5adb7;--line:#353c45;--for:158 78 0;--against:29 95 178;"
    "--unsigned:8 104 78;--may:#8accf5;--may-not:#ffab8c;--not-safe:#ecd37b"
)
# Notebooks say which theme they have: JupyterLab, VS Code, Colab; others follow the system.
DARK_NOTEBOOKS = (
    '[data-jp-theme-light="false"]',
    "body.vscode-dark",
    "html[theme=dark]",
    'html[data-theme="dark"]',
)
LIGHT_NOTEBOOKS = ('[data-jp-theme-light="true"]', "body.vscode-light", "html[theme=light]")
STYLE = f"""
.heedful-view{{{LIGHT};color:var(--ink);line-height:1.6;max-width:60rem}}
@media (prefers-color-scheme:dark){{.heedful-view{{{DARK}}}}}
{",".join(f"{one} .heedful-view" for one in DARK_NOTEBOOKS)}{{{DARK}}}
{",".join(f"{one} .heedful-view" for one in LIGHT_NOTEBOOKS)}{{{LIGHT}}}
.heedful-view p{{margin:0 0 .5rem}}
.heedful-view .quiet{{color:var(--quiet);font-size:.86em}}
.heedful-view .verdict{{font-size:1.25em;font-weight:600;border-left:5px solid;padding-left:.7rem}}
.heedful-view table{{border-collapse:collapse}}
.heedful-view td,.heedful-view th{{text-align:left;vertical-align:top;padding:.2rem .9rem .2rem 0;
border-bottom:1px solid var(--line);background:none;color:inherit;white-space:normal}}
.heedful-view mark{{color:inherit;border-radius:3px;padding:.1em 0}}
.heedful-view .strong{{text-decoration:underline;text-decoration-thickness:2px}}
"""
TONES = {"for": "--for", "against": "--against", "unsigned": "--unsigned"}


def audit_view(audit: "Audit") -> str:
    """The verdict, the paragraph in plain words and a row per question."""
    return _framed(_audit_parts(audit))


def explanation_view(explanation: "Explanation") -> str:
    """The prediction, and the text once per measure that may be drawn."""
    return _framed(_explanation_parts(explanation))


def weights_view(attention: "WordWeights") -> str:
    """A text in the colours of its attention weights, or why they should not be shown."""
    if attention.withheld:
        return _framed([_paragraph(attention.text), _paragraph(attention.withheld, "quiet")])
    scores = {"attention": attention.weights.tolist()}
    offsets = [(start, end) for start, end in attention.offsets.tolist()]
    return _framed(_lines(attention.text, offsets, scores, ["attention"]))


def _audit_parts(audit: "Audit") -> Iterator[str]:
    yield (
        f'<p class="verdict" style="border-color:var(--{audit.verdict})">'
        f"{_written(audit.sentence)}</p>"
    )
    yield _paragraph(str(audit.in_plain_words))
    if commands := next_steps(audit):
        lines = "\n".join(_written(command) for command in commands)
        yield f"<pre>{lines}</pre>"
    if audit.instead:
        yield _paragraph(audit.instead)
    yield "<table><thead><tr><th>question</th><th>answer</th><th></th></tr></thead><tbody>"
    for answer in audit.answers:
        said = answer.judgement or "not asked"
        yield (
            f"<tr><th>{_written(answer.question)}</th><td>{_written(said)}</td>"
            f'<td class="quiet">{_written(answer.reason or answer.asks)}</td></tr>'
        )
    yield "</tbody></table>"
    yield _paragraph("audit.to_html(path) writes the whole report.", "quiet")


def _explanation_parts(explanation: "Explanation") -> Iterator[str]:
    probability = float(explanation.probabilities.max())
    yield f"<p><b>{_written(str(explanation.prediction))}</b> {probability:.3f}</p>"
    if explanation.withheld:
        yield _paragraph(explanation.text)
        yield _paragraph(explanation.withheld, "quiet")
        return
    if explanation.shown is not None:
        may = "may" if explanation.shown else "should not"
        yield _paragraph(f"The heat map of attention {may} be shown. {explanation.why}")
    scores = {measure: numbers.tolist() for measure, numbers in explanation.drawn.items()}
    offsets = [(start, end) for start, end in explanation.offsets.tolist()]
    yield from _lines(explanation.text, offsets, scores, explanation.unsigned)


def _lines(
    text: str,
    offsets: Sequence[tuple[int, int]],
    scores: Mapping[str, Sequence[float]],
    unsigned: Sequence[str],
) -> Iterator[str]:
    """The text once per measure, and what the colours mean."""
    heat = heat_map(text, offsets, scores, unsigned=unsigned)
    yield "<table><tbody>"
    for line in heat.lines:
        pieces = "".join(_piece(piece, line) for piece in line.pieces)
        strongest = " · ".join(f"{_written(word)} {score:.2f}" for word, score in line.strongest)
        yield (
            f'<tr><th>{_written(line.measure)}</th><td dir="auto">{pieces}'
            f'<br><span class="quiet">{strongest}</span></td></tr>'
        )
    yield "</tbody></table>"
    if heat.left_out:
        yield _paragraph(f"{heat.left_out:,} more words are not shown.", "quiet")
    signed = any(line.is_signed for line in heat.lines)
    sides = "; orange speaks for the prediction, blue against it" if signed else ""
    yield _paragraph(f"Green is weight without a sign{sides}.", "quiet")


def _piece(piece: Piece, line: HeatLine) -> str:
    if not piece.strength:
        return _written(piece.text)
    tone = "unsigned" if not line.is_signed else "against" if piece.score < 0 else "for"
    strong = ' class="strong"' if piece.is_top else ""
    colour = f"background:rgb(var({TONES[tone]}) / {piece.strength})"
    return f'<mark{strong} style="{colour}" title="{piece.score:.3f}">{_written(piece.text)}</mark>'


def _paragraph(text: str, kind: str = "") -> str:
    of_kind = f' class="{kind}"' if kind else ""
    return f"<p{of_kind}>{_written(text)}</p>"


def _written(text: str) -> str:
    return escape(visible(text))


def _framed(parts: Iterator[str] | Sequence[str]) -> str:
    return f'<style>{STYLE}</style><div class="heedful-view">{"".join(parts)}</div>'
