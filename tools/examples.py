"""Runs the examples in docs_src and writes them, with what they print, into the README and the docs.

An example stands between `<!-- example NAME -->` and `<!-- /example -->`; it is docs_src/NAME.py.

Usage: python tools/examples.py [--check]
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"<!-- example (\w+) -->\n.*?<!-- /example -->", re.DOTALL)


def pages() -> list[Path]:
    """The pages that hold examples."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in found if BLOCK.search(page.read_text("utf-8"))]


def rewritten(text: str) -> str:
    """The page with each example and its output as they are now."""
    return BLOCK.sub(lambda match: _block(match[1]), text)


def _block(name: str) -> str:
    path = ROOT / "docs_src" / f"{name}.py"
    done = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, check=True, cwd=ROOT
    )
    code, output = path.read_text("utf-8").strip(), done.stdout.strip()
    return (
        f"<!-- example {name} -->\n```python\n{code}\n```\n\nprints\n\n"
        f"```\n{output}\n```\n<!-- /example -->"
    )


def main() -> int:
    """Rewrite the pages, or with --check say which are stale."""
    stale = [page for page in pages() if rewritten(old := page.read_text("utf-8")) != old]
    if "--check" in sys.argv:
        for page in stale:
            sys.stderr.write(f"{page} is not what its examples print: run `make docs`.\n")
        return bool(stale)
    for page in stale:
        page.write_text(rewritten(page.read_text("utf-8")), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
