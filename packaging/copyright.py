#!/usr/bin/env python3
"""Prints a copyright file (DEP 5) for Headway and every crate linked into a program.

Usage: copyright.py CRATE. Licences are those that crates declare. If a crate offers alternatives,
the file names the one that Headway uses. Copyright lines come from the licence files, or from the
crate's authors if a file has none.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NOTICE = re.compile(r"^[\s/*#]*(Copyright\s+(?:\(c\)|©|\d{4}|The\s).*?)[\s*/]*$", re.I | re.M)
NO_NOTICE = re.compile(r"<year>|\[yyyy\]|year name of author|Free Software Foundation", re.I)
COMMON = {"GPL-2.0-only": "GPL-2", "LGPL-2.1-only": "LGPL-2.1", "Apache-2.0": "Apache-2.0"}
"""Licences whose full text is on every Debian system."""
MIT = """\
Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the "Software"), to deal in the Software without restriction,
including without limitation the rights to use, copy, modify, merge, publish, distribute,
sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or
substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT
OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."""
ISC = """\
Permission to use, copy, modify, and/or distribute this software for any purpose with or without
fee is hereby granted, provided that the above copyright notice and this permission notice appear
in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS
SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE
AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES
WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN ACTION OF CONTRACT,
NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE
OF THIS SOFTWARE."""
OWN = (ROOT / "LICENSE").read_text(encoding="utf-8")
TEXTS = {"BSD-2-Clause": OWN.split("\n\n", 2)[2].strip(), "MIT": MIT, "ISC": ISC}
for name, file in COMMON.items():
    TEXTS[name] = f"The text is in /usr/share/common-licenses/{file}."


def folded(text: str) -> str:
    """Format text as lines of a field: each starts with a space, an empty line has a dot."""
    return "\n".join(f" {line.rstrip()}" if line.strip() else " ." for line in text.split("\n"))


def stanza(files: str, holders: Iterable[str], licence: str) -> str:
    """Format a stanza of the copyright file for some files."""
    found = "\n           ".join(holders)
    return f"Files: {files}\nCopyright: {found}\nLicense: {licence}\n"


def linked(program: str) -> list[dict[str, Any]]:
    """The crates of other authors that are linked into the program, by name."""

    def said(*command: str) -> str:
        return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout

    def cargo(*words: str) -> str:
        return said("cargo", *words, "--locked")

    # unlike cargo metadata, cargo tree lists only the crates that this program is built from
    tree = cargo("tree", f"--package={program}", "--edges=normal,no-proc-macro", "--prefix=none")
    names = set(re.findall(r"^(\S+) v(\S+)", tree, re.M))
    # list only this platform's crates, because the crates of other platforms are not fetched
    platform = re.findall(r"^host: (.+)$", said("rustc", "-vV"), re.M)[0]
    known = json.loads(cargo("metadata", "--format-version=1", f"--filter-platform={platform}"))
    ours = set(known["workspace_members"])
    found = [
        crate
        for crate in known["packages"]
        if (crate["name"], crate["version"]) in names and crate["id"] not in ours
    ]
    return sorted(found, key=lambda crate: (crate["name"], crate["version"]))


def notices(files: Iterable[Path]) -> list[str]:
    """The copyright lines in some files, without repetitions."""
    texts = (file.read_text(encoding="utf-8", errors="replace") for file in files)
    found = (" ".join(line.split()) for text in texts for line in NOTICE.findall(text))
    return list(dict.fromkeys(line for line in found if not NO_NOTICE.search(line)))


def of_crate(crate: dict[str, Any]) -> str:
    """A crate's stanzas of the copyright file: two for libbpf-sys, which also contains libbpf."""
    folder = Path(crate["manifest_path"]).parent
    name = f"{crate['name']}-{crate['version']}"
    files = [f for f in sorted(folder.iterdir()) if re.match(r"(?i)(un)?licen|copy", f.name)]
    holders = notices(f for f in files if f.is_file()) or crate["authors"]
    holders = holders or [f"the contributors to {crate['name']}"]
    choice = re.split(r" OR |/", crate["license"])
    licence = " or ".join([one for one in choice if one in TEXTS] or choice)
    found = stanza(f"vendor/{name}/*", holders, licence)
    bundled = folder / "libbpf" / "src"
    if bundled.is_dir():
        holders = notices(sorted(bundled.glob("*.[ch]")))
        licence = "LGPL-2.1-only or BSD-2-Clause"
        found += "\n" + stanza(f"vendor/{name}/libbpf/*", holders, licence)
    return found


def main() -> None:
    """The text of the copyright file for the whole package."""
    holder = NOTICE.findall(OWN)
    parts = [
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
        "Upstream-Name: Headway\n"
        "Comment: vendor/ stands for the sources of the crates that are linked in.\n",
        stanza("*", holder, "BSD-2-Clause"),
        stanza("algorithms/*", holder, "BSD-2-Clause or GPL-2.0-only")
        + "Comment: The eBPF programs that headwayctl carries are built of these files and\n"
        ' declare "Dual BSD/GPL" to the kernel.\n',
        *(of_crate(crate) for crate in linked(sys.argv[1])),
        stanza("vendor/rust/library/*", ["The Rust Project Developers"], "MIT or Apache-2.0"),
    ]
    used = {
        word
        for licence in re.findall(r"^License: (.+)$", "\n".join(parts), re.M)
        for word in re.split(r" or | and |[()]", licence)
        if word
    }
    unknown = sorted(used - TEXTS.keys())
    if unknown:
        sys.exit(f"copyright.py: no text of the licence {', '.join(unknown)}: add it")
    parts += [f"License: {name}\n{folded(TEXTS[name])}\n" for name in sorted(used)]
    print("\n".join(parts), end="")


if __name__ == "__main__":
    main()
