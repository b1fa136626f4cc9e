"""Pictures of every view for the docs.

heedful demo
python -m tests.web.screenshots heedful-demo docs/images
"""

import sys
from pathlib import Path

from tests.report.browser import browser
from tests.web.browsing import serving, visiting

TEXT = "A very funny movie, but the ending is dull and the acting never quite convinces."
VIEWS = {
    "explain": ({"run": "faithful", "text": TEXT}, "#explanation .agreement"),
    "whatif": ({"run": "standard", "text": TEXT}, ".slider"),
    "compare": ({"runs": "standard,faithful", "text": TEXT}, ".between"),
    "documents": ({"audit": "standard", "sort": "epsilon_max_jsd"}, ".grid-body .row"),
    "audit": ({"audit": "standard"}, ".verdict"),
}


def main(folder: str, output: str) -> None:
    """One picture per view and colour scheme."""
    with browser() as started, serving(Path(folder)) as address:
        for scheme in ("light", "dark"):
            with visiting(started, address, color_scheme=scheme) as seen:
                for view, (state, sign) in VIEWS.items():
                    seen.open(view, **state)
                    seen.see(sign)
                    if view == "whatif":
                        seen.page.get_by_role("button", name="Adversary").click()
                        seen.until("() => location.hash.includes('weights=')")
                        seen.until("() => !document.querySelector('.toolbar button').disabled")
                    seen.page.wait_for_timeout(500)
                    name = f"serve-{view}.png" if scheme == "light" else f"serve-{view}-dark.png"
                    seen.page.screenshot(path=Path(output) / name)


if __name__ == "__main__":
    main(*sys.argv[1:3])
