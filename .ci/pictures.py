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

ASSETS = pathlib.Path(__file__).parents[1] / "docs" / "assets"
PORT, SECONDS = 8799, 100
ANIMALS = ["cat", "cow", "dog", "fox"]


def live_page(browser):
    """Save the page of the demo as it is before it ends."""
    command = [sys.executable, "-m", "stream_metrics", "demo", "--live", "--port", str(PORT), "--seconds", str(SECONDS)]
    demo = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        for scheme, seconds in (("light", SECONDS - 15), ("dark", 2)):
            page = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme=scheme).new_page()
            page.wait_for_timeout(1000 * seconds)
            page.goto(f"http://127.0.0.1:{PORT}/")
            page.wait_for_timeout(3000)
            page.screenshot(path=ASSETS / f"page-{scheme}.png")
    finally:
        demo.terminate()
        demo.wait()


def notebook(browser, snapshot):
    """Save a snapshot as a notebook shows it."""
    for scheme, style in (("light", "background:#fff;color:#000"), ("dark", "background:#1e2129;color:#ddd")):
        page = browser.new_context(viewport={"width": 840, "height": 700}, color_scheme=scheme).new_page()
        page.set_content(f"<body style='{style};font:14px sans-serif'>{snapshot._repr_html_()}</body>")
        page.screenshot(path=ASSETS / f"notebook-{scheme}.png", full_page=True)


def report(browser, snapshot):
    """Save the report as a terminal shows it."""
    style = "display:inline-block;margin:0;padding:20px 24px;background:#11161d;color:#dbe2ea;font:14px/1.4 monospace"
    page = browser.new_page()
    page.set_content(f'<body style="margin:0"><pre style="{style}">{escape(snapshot.report(80))}</pre></body>')
    page.locator("pre").screenshot(path=ASSETS / "report.png")


def example():
    """Return a snapshot of four classes."""
    rng, truth, rows = random.Random(4), [], []
    for _ in range(2000):
        label = rng.choice(ANIMALS)
        likely = ({"dog": 2, "fox": 2} if label in ("dog", "fox") else {}) | {label: 4}
        weights = [rng.random() ** 2 * likely.get(name, 1) for name in ANIMALS]
        truth.append(label)
        rows.append([weight / sum(weights) for weight in weights])
    return sm.evaluate(truth, scores=rows, classes=ANIMALS)


def main():
    """Draw all pictures."""
    snapshot = example()
    snapshot.plot().savefig(ASSETS / "overview.png", dpi=100)
    with sync_playwright() as playwright:
        program = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        notebook(browser, snapshot)
        report(browser, snapshot)
        live_page(browser)
        browser.close()


main()
