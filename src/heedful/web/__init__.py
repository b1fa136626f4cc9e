"""The page: a text, a model and its attention, to be touched.

shelf.py    what is served: runs and audits, looked after while they are served
reading.py  texts and models -> answers: explain, attend, replace, compare
sorting.py  audits -> answers: verdicts, figures, documents in order
desk.py     who is served when: so much at once, so many waiting, the rest told to come back
office.py   all of them together
guard.py    who may ask: hosts, origins, a token, sizes, and what a browser is told to refuse
limits.py   how much may be asked
forms.py    what may be asked and what is answered, as types; OpenAPI is made of them
routes.py   the addresses of the API; failures.py: what goes wrong there, in sentences
pages.py    the files of the page, from static/: nothing is built, nothing is fetched
app.py      the application; serving.py: a server for it
"""

from heedful.web.app import create_app
from heedful.web.limits import Limits

__all__ = ["Limits", "create_app"]
