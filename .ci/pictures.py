"""Draw the pictures of the documentation: the live page, light and dark, a figure and the report of a snapshot.

`python .ci/pictures.py` writes them to docs/assets. It needs river, matplotlib, playwright and Chromium, and takes two
minutes: the demo runs until the page has a trend.
"""

import pathlib
import random
import shutil
import subprocess
import sys
from html import escape

from playwright.sync_api import sync_playwright

import stream_metrics as sm
from stream_metrics import plots

ASSETS = pathlib.Path(__file__).parents[1] / "docs" / "assets"
PORT, SECONDS = 8799, 100
ANIMALS = ["cat", "cow", "dog", "fox"]


def live_page():
    """Save the page of the demo as it is before it ends."""
    command = [sys.executable, "-m", "stream_metrics", "demo", "--live", "--port", str(PORT), "--seconds", str(SECONDS)]
    demo = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        with sync_playwright() as playwright:
            browser = browser_of(playwright)
            for scheme in ("light", "dark"):
                context = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme=scheme)
                page = context.new_page()
                page.wait_for_timeout(2000 if scheme == "dark" else (SECONDS - 15) * 1000)
                page.goto(f"http://127.0.0.1:{PORT}/")
                page.wait_for_timeout(3000)
                page.screenshot(path=ASSETS / f"page-{scheme}.png")
            browser.close()
    finally:
        demo.terminate()
        demo.wait()


def browser_of(playwright):
    """Return Chromium."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    return playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])


def animals():
    """Return a snapshot of four classes with probabilities."""
    rng, truth, rows = random.Random(4), [], []
    for _ in range(2000):
        label = rng.choice(ANIMALS)
        likely = ({"dog": 2, "fox": 2} if label in ("dog", "fox") else {}) | {label: 4}
        weights = [rng.random() ** 2 * likely.get(name, 1) for name in ANIMALS]
        truth.append(label)
        rows.append([weight / sum(weights) for weight in weights])
    return sm.evaluate(truth, scores=rows, classes=ANIMALS)


def report(snapshot):
    """Save the report as a terminal shows it."""
    style = "display:inline-block;margin:0;padding:20px 24px;background:#11161d;color:#dbe2ea;font:14px/1.4 monospace"
    with sync_playwright() as playwright:
        page = browser_of(playwright).new_page()
        page.set_content(f'<body style="margin:0"><pre style="{style}">{escape(snapshot.report(80))}</pre></body>')
        page.locator("pre").screenshot(path=ASSETS / "report.png")


snapshot = animals()
plots.overview(snapshot).savefig(ASSETS / "overview.png", dpi=100)
report(snapshot)
live_page()
