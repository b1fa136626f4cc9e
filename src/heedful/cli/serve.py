"""`heedful serve`: the page."""

from typing import Annotated

import typer

from heedful.cli.options import Device, LabelWords, LongTextsOf, Template


def serve(
    folders: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN…",
            help="Runs, audits, folders that contain them, hf:FOLDER_OR_NAME or "
            "hf-prompt:FOLDER_OR_NAME.",
        ),
    ],
    port: Annotated[int, typer.Option(help="Port to listen on; 0 picks a free one.")] = 8642,
    host: Annotated[
        str, typer.Option(help="Address to listen on. Beyond this machine, a token is required.")
    ] = "127.0.0.1",
    name: Annotated[
        list[str] | None,
        typer.Option(help="Another host name of this machine; may be repeated."),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(envvar="HEEDFUL_TOKEN", help="Require this token. Default: a random one."),
    ] = None,
    cores: Annotated[
        int | None,
        typer.Option(help="Number of cores. Default: all. Explains at most 4 texts at once."),
    ] = None,
    readout: Annotated[
        list[str] | None,
        typer.Option(
            help="With hf: how attention is read, may be repeated. Default: all usual ways."
        ),
    ] = None,
    long_texts: LongTextsOf = None,
    template: Template = None,
    label_words: LabelWords = None,
    device: Device = "auto",
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
) -> None:
    """Open a page to explore runs: type a text, change its attention, watch the prediction.

    Explain a text, try different attention, compare runs, browse the documents of an audit and see
    its answers. A Hugging Face classifier is served once for each way to read its attention.
    Everything stays on this machine.
    """
    import sys
    import threading
    import webbrowser

    from heedful.auditing.subjects.huggingface.windows import LongTexts
    from heedful.cli import show
    from heedful.config import at_least, check
    from heedful.errors import UsageError
    from heedful.web.server import Server

    at_least(1, **{"--cores": cores})
    if not 0 <= port <= 65535:
        raise UsageError(f"--port must be a number from 0 to 65535, not {port}.")
    if token is not None and len(token) < 16:
        raise UsageError("--token is too short to be safe: give 16 characters or more.")
    way: LongTexts = check(long_texts or "cut", LongTexts, "--long-texts")
    prompt = None
    if (template, label_words) != (None, None):
        from heedful.auditing.subjects.huggingface.prompted import Prompt

        prompt = Prompt.of(template, label_words)
    server = Server.at(
        folders,
        host=host,
        port=port,
        names=name or (),
        token=token,
        device=device,
        cores=cores,
        readouts=readout or (),
        long_texts=way,
        prompt=prompt,
    )
    for sentence in server.problems:
        show.note(f"note: {sentence}")
    show.note(f"serving {server.served}")
    show.result(server.address)
    show.note("stop with Ctrl-C")
    if browser and sys.stdout.isatty():  # one that runs in the terminal would wait for an answer
        threading.Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
    server.run()
