"""A headless Chromium that reports whatever a page does besides being shown.

Found in this order: $CHROMIUM; `chromium`, `chromium-headless-shell` and the like on the path; the one of
`playwright install chromium`.
"""

import contextlib
import os
import pathlib
import shutil

from playwright.sync_api import sync_playwright

WIDTHS = (400, 1000, 1600)
SCHEMES = ("light", "dark")


@contextlib.contextmanager
def chromium():
    """A running browser."""
    names = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome")
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def shown(browser, path, width=1400, height=1000, scheme="light", fragment=""):
    """The file at `path` in a window; on leaving, whatever went wrong on the page is an error."""
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page = context.new_page()
    faults = []
    page.on("console", lambda message: message.type in ("error", "warning") and faults.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: faults.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("popup", lambda _: faults.append("a window was opened"))
    own = pathlib.Path(path).resolve().as_uri()
    page.on("request", lambda request: request.url.split("#")[0] != own and not request.url.startswith(("data:", "blob:"))
            and faults.append(f"request: {request.url[:200]}"))
    page.goto(own + fragment)
    yield page
    assert not faults, f"{path} at {width}, {scheme}: {faults}"
    context.close()


def is_within(page):
    """Whether nothing is wider than the window."""
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
