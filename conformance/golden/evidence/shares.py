# SPDX-License-Identifier: Apache-2.0
"""Prints how many pairs (family, release) of Transformers are run, read in some form, or absent."""

from names import families

from engines import OF_IMAGES
from rows import ABSENT, read_rows


def print_shares(engine):
    encodings = {family: encoding for family, encoding, *_ in families()}
    versions = [engine.version(release) for release in engine.releases]
    found = read_rows(engine.name, versions)
    kinds = {family: [kind_of(found[version].get(family, {})) for version in versions]
             for family in engine.families()}
    text = {family for family in kinds
            if encodings[family] == "rotary" and not OF_IMAGES.search(family)}
    never = {family for family, each in kinds.items() if set(each) == {"absent"}}
    print("| families | pairs | run | read | absent | known |\n|---|---|---|---|---|---|")
    print_row("language models that rotate", kinds, text)
    print_row("but for names that no release has", kinds, text - never)
    print_row("other encodings", kinds, {each for each in kinds if encodings[each] != "rotary"})
    print_row("all", kinds, kinds)


def kind_of(cells):
    """Returns the best evidence on any form."""
    if cells.keys() == ABSENT.keys():
        return "absent"
    return next((best for best in ("run", "read")
                 if any(kind == best for kind, *_ in cells.values())), "none")


def print_row(label, kinds, of):
    pairs = [kind for family in of for kind in kinds[family]]
    counts = [pairs.count(kind) for kind in ("run", "read", "absent")]
    share = 100 * sum(counts) / len(pairs)
    print(f"| {label} | {len(pairs)} | {' | '.join(map(str, counts))} | {share:.1f} % |")
