"""The page: a text, a model and its attention, to be touched.

app.py           the application; server.py: a server for it
routes.py        the addresses of the API; handlers.py: what each of them calls
schemas.py       the types of requests and answers; OpenAPI is generated from them
models.py        a model as the page asks it; transformers.py: readings of Hugging Face models
texts.py         texts and models -> answers: explain, attend, replace, compare
audits.py        audits -> answers: verdicts, figures, documents in order
store.py         the models and audits that are served, and what becomes of them meanwhile
queue.py         how much is worked on at once, how much waits, what is refused
security.py      hosts, origins, a token, sizes, and the headers that restrict the browser
limits.py        the limits of requests
errors.py        what goes wrong, in sentences
static_files.py  the files of the page, from static/: nothing is built, nothing is fetched
"""

from heedful.web.app import create_app
from heedful.web.limits import Limits

__all__ = ["Limits", "create_app"]
