#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Copies the pages of docs/mkdocs.yml, and the files to which they link, into build/docs/pages.

Paths stay the same, so links work. A linked folder becomes a page that lists it.
"""

import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ROOT / "build/docs/pages"
LINK = re.compile(r"(?:\]\(|(?:src|srcset)=\")(?!\w+:|#)([^)\s#\"]+)")


def main():
    shutil.rmtree(PAGES, ignore_errors=True)
    put("docs/iframe-worker.js", (ROOT / "docs/iframe-worker.js").read_bytes())
    tracked = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).split("\n")
    pages = re.findall(r"([\w./-]+\.md)$", (ROOT / "docs/mkdocs.yml").read_text(), re.MULTILINE)
    for page in pages:
        text = (ROOT / page).read_text(encoding="utf-8")
        for link in LINK.findall(text):
            target = (ROOT / page).parent.joinpath(link).resolve().relative_to(ROOT)
            if (ROOT / target).is_dir():
                inside = [name for name in tracked if name.startswith(f"{target}/")]
                put(f"{target}/index.md", f"# {target}\n\n" + "\n".join(
                    f"* [{name}]({pathlib.Path(name).relative_to(target)})" for name in inside))
                text = text.replace(f"]({link})", f"]({link.rstrip('/')}/index.md)")
            else:
                inside = [str(target)]
            for name in set(inside) - set(pages):
                put(name, (ROOT / name).read_bytes())
        put(page, text)


def put(name, content):
    place = PAGES / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content if isinstance(content, bytes) else content.encode())


if __name__ == "__main__":
    sys.exit(main())
