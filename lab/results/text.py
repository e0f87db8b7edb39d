# SPDX-License-Identifier: Apache-2.0
"""Results as text, and as CSV (RFC 4180, but one-byte line ends) with exact numbers."""

from panels import unit_of


def fixed(number):
    return "-" if number is None else f"{number:.3f}"


def cells_text(results):
    yield (f"{'encoding':<13} {'seed':>4} {'loss':>7} {'cpu s':>9} {'weights':>8}  loss at "
           "multiples of the trained length (last quarter)\n")
    for arm in sorted(results["arms"], key=lambda arm: (arm["loss"] or {"mean": 0})["mean"]):
        for cell in arm["cells"]:
            loss = fixed(cell["loss"] if cell["curve"]["step"] else None)
            yield (f"{arm['name']:<13} {cell['seed']:>4} {loss:>7} {cell['cpu_s']:>9.1f} "
                   f"{cell['parameters']:>8}")
            for one in cell["lengths"]:
                rule = " " + one["rule"] if one["rule"] else ""
                yield (f"  {one['multiple']}x{rule} {fixed(one['loss'])} "
                       f"({fixed(one['last_quarter'])})")
            yield "".join(f"  {name} {value:.3f}" for name, value in cell["metrics"].items()) + "\n"


def published_text(table):
    yield (f"\n{table['label']} ({table['source']})\n{table['unit']:<30} {'published':>10} "
           f"{'less 1st':>8} {'here':>10} {'less 1st':>8}\n")
    for row in table["rows"]:
        less = "-" if row["ours_difference"] is None else f"{row['ours_difference']:+.3f}"
        yield (f"{row['measure']:<30} {row['published']:>10g} {row['published_difference']:>+8.3f} "
               f"{fixed(row['ours']):>10} {less:>8}\n")


def claim_text(claim):
    gaps = "".join(f" {gap['higher'] - gap['lower']:+.3f}" for gap in claim["gaps"]) or " nothing"
    if claim["interval"]:
        over = "validation windows" if claim["interval_over"] == "windows" else "seeds"
        low, high = claim["interval"]
        gaps += f"; 95 % of {over}: {low:+.3f} to {high:+.3f}"
    return (f"{claim['verdict']}: {claim['statement']}\n    {claim['higher']} - {claim['lower']} "
            f"must be at least {claim['margin']:.3f} for every seed, got{gaps}\n")


def text_of(results):
    return "".join((
        f"{results['title']}\nmirrors: {results['mirrors']}\n\n", *cells_text(results),
        *(line for table in results["published"] for line in published_text(table)),
        "\nLosses at equal steps: speed of convergence, not final quality.\n",
        *(f"made with {machine}\n" for machine in results["machines"]),
        *(f"attention: {remark}\n" for remark in results["remarks"]),
        *map(claim_text, results["claims"])))


def number(value):
    return repr(float(value)).removesuffix(".0")


def csv(head, rows):
    return "".join(",".join(row) + "\n" for row in (head.split(","), *rows))


def cells_of(results):
    return [(arm, cell) for arm in results["arms"] for cell in arm["cells"]]


def measures_of(arm, cell):
    for key in ("steps", "parameters", "cpu_s"):
        yield key, cell[key]
    if cell["curve"]["step"]:
        yield "loss", cell["loss"]
    for one in cell["lengths"]:
        name = f" {one['multiple']}x" + (f" {one['rule']}" if one["rule"] else "")
        # A multiple of 1 is mostly the trained length, whose loss is the final one.
        if one["multiple"] != 1 or unit_of(arm) != arm["model"]["tokens"]:
            yield f"loss{name}", one["loss"]
        yield f"last_quarter{name if one['multiple'] != 1 else ''}", one["last_quarter"]
    yield from cell["metrics"].items()


def measures_csv(results):
    return csv("arm,family,seed,measure,value",
               [(arm["name"], arm["family"], str(cell["seed"]), name, number(value))
                for arm, cell in cells_of(results) for name, value in measures_of(arm, cell)
                if value is not None])


def curves_csv(results):
    keys = ("step", "training", "validation")
    return csv("arm,seed,step,training,validation",
               [(arm["name"], str(cell["seed"]), *map(number, row)) for arm, cell in
                cells_of(results) for row in zip(*(cell["curve"][key] for key in keys))])


PAIR = ("layer", "pair", "inv_freq", "q_energy", "k_energy", "loss_unturned", "loss_removed",
        "distance_removed")


def pairs_csv(results):
    """Pairs as CSV; empty if no cell has any."""
    rows = [(arm["name"], str(cell["seed"]), *(number(pair[key]) for key in PAIR))
            for arm, cell in cells_of(results) for pair in cell["pairs"]]
    return csv("arm,seed," + ",".join(PAIR), rows) if rows else ""
