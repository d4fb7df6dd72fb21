"""Draw the pictures of the documentation: the live page, light and dark, and the overview of a snapshot.

`python .ci/pictures.py` writes them to docs/assets. It needs river, matplotlib, playwright and Chromium, and takes two
minutes: the demo runs until the page has a trend.
"""

import pathlib
import random
import shutil
import subprocess
import sys

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
            program = shutil.which("chromium") or shutil.which("google-chrome")
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
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


def overview():
    """Save the overview of a snapshot of four classes."""
    rng, truth, rows = random.Random(4), [], []
    for _ in range(2000):
        label = rng.choice(ANIMALS)
        likely = ({"dog": 2, "fox": 2} if label in ("dog", "fox") else {}) | {label: 4}
        weights = [rng.random() ** 2 * likely.get(name, 1) for name in ANIMALS]
        truth.append(label)
        rows.append([weight / sum(weights) for weight in weights])
    snapshot = sm.evaluate(truth, scores=rows, classes=ANIMALS)
    plots.overview(snapshot).savefig(ASSETS / "overview.png", dpi=100)


overview()
live_page()
