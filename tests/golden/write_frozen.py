"""Write what users see into the files that `tests/test_frozen.py` compares: the interface, values, reports, commands.

    python tests/golden/write_frozen.py [api help schemas values reports vectors]
"""

import gzip
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support import frozen, vectors


def write(name: str, text: str) -> None:
    """Write one file; values are compressed."""
    path = frozen.GOLDEN / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0) if name.endswith(".gz") else text.encode())


def main(parts: list[str]) -> None:
    """Write the parts that are named, or all."""
    if "api" in parts:
        write("api.txt", frozen.api())
    if "help" in parts:
        for command in frozen.COMMANDS:
            write(f"help/{command.replace(' ', '-') or 'stream-metrics'}.txt", frozen.output_of(f"{command} --help"))
    if "schemas" in parts:
        for name, flag in frozen.SCHEMAS.items():
            write(f"{name}.schema.json", frozen.output_of(f"monitor {flag}"))
    if "values" in parts:
        for name, cases in frozen.VALUES.items():
            write(f"values_{name}.jsonl.gz", "\n".join(frozen.lines_of(cases())) + "\n")
    if "reports" in parts:
        for name, snapshot in frozen.snapshots().items():
            write(f"reports/{name}.txt", f"{snapshot}\n")
            write(f"reports/{name}.html", f"{snapshot._repr_html_()}\n")
            write(f"reports/{name}.json", f"{snapshot.to_json()}\n")
    if "vectors" in parts:
        for name in vectors.NAMES:
            write(f"vectors/{name}.json", vectors.vector(name))


if __name__ == "__main__":
    main(sys.argv[1:] or ["api", "help", "schemas", "values", "reports", "vectors"])
