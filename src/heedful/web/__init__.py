"""The page: a text, a model and its attention, to be touched.

shelf.py    what is served: runs and audits, looked after while they are served
desk.py     who is served when: so much at once, so many waiting, the rest told to come back
guard.py    who may ask: hosts, origins, a token, sizes, and what a browser is told to refuse
forms.py    what may be asked and what is answered, as types; OpenAPI is made of them
reading.py  texts: explain, attend, replace, compare
sorting.py  audits: answers, figures, documents
app.py      the addresses
static/     the page itself: HTML, CSS and JavaScript modules, nothing built, nothing fetched
"""

from heedful.web.app import create_app
from heedful.web.limits import Limits

__all__ = ["Limits", "create_app"]
