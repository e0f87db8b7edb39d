# SPDX-License-Identifier: Apache-2.0
"""Results as one HTML page that works offline: it contains Chart.js (libjs-chart.js)."""

import html
import json
import pathlib
import re
import statistics

from cells import IO, Failure
from panels import all_panels

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART_FOLDERS = ("/usr/share/javascript/chart.js", "/usr/share/nodejs/chart.js/dist")
SHARED = ("elements.js", "inputs.js", "colours.js", "legend.js", "charts.js")
DASH = "\u2013"


class Markup(str):
    """Text that is already HTML."""


def element(name, *children, **attributes):
    """Escapes every child that is not Markup."""
    inside = "".join(child if isinstance(child, Markup) else html.escape(str(child))
                     for child in children)
    written = "".join(f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
                      for key, value in attributes.items())
    return Markup(f"<{name}{written}>{inside}</{name}>")


def fixed(number, form=".3f"):
    return DASH if number is None else f"{number:{form}}".replace("-", "\u2212")


def table(caption, head, rows):
    """Each row's first cell is its heading."""
    heads = element("tr", *(element("th", text, scope="col") for text in head))
    body = [element("tr", element("th", row[0], scope="row"),
                    *(element("td", text, class_="number" if len(text) < 50 else "")
                      for text in row[1:])) for row in rows]
    return element("div", element("table", element("caption", caption), element("thead", heads),
                                  element("tbody", *body)),
                   class_="scroll fit", role="region", tabindex="0", aria_label=caption)


def with_interval(summary, form=".3f"):
    if summary is None:
        return DASH
    mean = fixed(summary["mean"], form)
    if not summary["interval"]:
        return mean
    low, high = summary["interval"]
    return f"{mean} \u00b1 {fixed((high - low) / 2, form)}"


def results_table(results):
    trained = any(arm["loss"] for arm in results["arms"])
    metrics = [name for name in dict.fromkeys(name for arm in results["arms"]
                                              for name in arm["metrics"])
               if not trained or "@" not in name]
    rows = []
    for arm in sorted(results["arms"], key=lambda arm: (arm["loss"] or {"mean": 0})["mean"]):
        cells = arm["cells"]
        cpu = statistics.fmean(cell["cpu_s"] for cell in cells)
        best = f" (best of {arm['family']})" if arm["family"] and arm["best_of_family"] else ""
        share = arm["steps_to_target"]
        rows.append((arm["name"] + best, ", ".join(str(cell["seed"]) for cell in cells),
                     with_interval(arm["loss"]),
                     fixed(100 * share["mean"], ".0f") + " %" if share else DASH,
                     *(with_interval(arm["metrics"].get(name), ".3g") for name in metrics),
                     fixed(cpu, ".1f"), f"{cells[0]['parameters']:,}"))
    target = results["target"]
    return table(f"Results of {results['name']}: mean over seeds, with half the 95 % interval",
                 ("Encoding", "Seeds", "Loss at the end, nats",
                  f"Share of steps to the final loss of {target}" if target else "Steps", *metrics,
                  "CPU seconds", "Parameters"), rows)


def claim_row(claim):
    gap = DASH
    if claim["gap"] is not None:
        low, high = claim["interval"] or (None, None)
        where = (f"{fixed(low, '+.3f')} to {fixed(high, '+.3f')}, over {claim['interval_over']}"
                 if claim["interval"] else "no interval")
        gap = f"{fixed(claim['gap'], '+.3f')} ({where})"
    what = (f"{claim['higher']} less {claim['lower']} must be at least "
            f"{fixed(claim['margin'], '+.2f')}")
    seeds = "; ".join(f"seed {one['seed']}: {fixed(one['higher'])} and {fixed(one['lower'])}"
                      for one in claim["gaps"])
    kind = claim["verdict"].replace(" at this scale", "").replace(" ", "-")
    return (element("span", claim["verdict"], class_=f"verdict {kind}"),
            Markup(html.escape(claim["statement"]) + element("small", what)
                   + (element("small", seeds) if seeds else "")), gap)


def published_table(paper):
    unit = "%" if paper["unit"] == "percent" else paper["unit"]
    first = paper["rows"][0]["measure"]
    nats = ", in nats" if paper["unit"] == "perplexity" else ""
    rows = [(row["measure"], f"{row['published']:g}", fixed(row["ours"]),
             fixed(row["published_difference"], "+.3f"), fixed(row["ours_difference"], "+.3f"))
            for row in paper["rows"]]
    return table(f"{paper['label']} ({paper['source']})",
                 ("Encoding", f"Published, {unit}", "Here", f"Published, less {first}{nats}",
                  f"Here, less {first}"), rows)


def settings(value):
    return ", ".join(f"{key.replace('_', ' ')} "
                     f"{one if isinstance(one, str) else json.dumps(one)}"
                     for key, one in (value or {}).items())


def setup(results):
    """The preset, model, training, data, machines and arms."""
    arms, cells = results["arms"], results["cells"]
    pairs = [("Preset", f"{results['preset']}, {cells['finished']} of {cells['of_preset']} cells "
              "finished"), ("Model", settings(arms[0]["model"])),
             ("Training", settings(arms[0]["training"]))]
    for one in results["data"]:
        origin = (f"from {one['origin']}, licence: {one['licence']}" if one["origin"]
                  else "of unknown origin")
        pairs.append(("Data", f"{one['name']}, {origin}, SHA-256 {one['sha256'][:16]}"))
    pairs += [("Made with", machine) for machine in results["machines"]]
    facts = element("dl", *(element(name, text) for pair in pairs
                            for name, text in zip(("dt", "dd"), pair)), class_="facts")
    rows = []
    for arm in arms:
        others = [f"{part}: {settings(own)}" for part in ("model", "training")
                  if (own := {key: value for key, value in (arm[part] or {}).items()
                              if value != (arms[0][part] or {}).get(key)})]
        if arm["start"]:
            others.append(f"starts from {arm['start']['folder']}")
        rows.append((arm["name"], settings(arm["encoding"]), "; ".join(others) or DASH))
    return element("details", element("summary", "What was compared, and on which data"), facts,
                   table(f"The encodings of {results['name']}", (
                       "Encoding", "Its settings", f"Other differences from {arms[0]['name']}"),
                       rows))


def section(results, grid):
    identity = f"{results['name']}-{results['preset']}"
    parts = [element("h2", results["title"], id=f"{identity}-heading"),
             element("p", f"Mirrors: {results['mirrors']}."),
             *(element("p", remark, class_="warning") for remark in results["remarks"])]
    if not results["arms"]:
        parts.append(element("p", "No cell of this preset is finished."))
    else:
        if results["claims"]:
            parts += [element("h3", "Claims"),
                      table(f"Claims of {results['name']}",
                            ("Verdict", "Claim", "Gap, and its 95 % interval"),
                            map(claim_row, results["claims"]))]
        parts += [element("h3", "Results"), results_table(results), setup(results)]
        if results["published"]:
            parts += [element("h3", "Beside published numbers"),
                      element("p", "Sizes, data and steps differ by orders of magnitude: compare "
                              "the sign of differences and, with care, their order."),
                      *map(published_table, results["published"])]
        parts += [element("h3", "Charts"), element("div", class_="panels", id=grid)]
    return element("section", *parts, id=identity)


def summary_of(documents):
    verdicts = [claim["verdict"] for one in documents for claim in one["claims"]]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}"
                       for verdict in dict.fromkeys(verdicts))
    items = []
    for one in documents:
        own = [claim["verdict"] for claim in one["claims"]]
        items.append(element(
            "li", element("a", one["title"], href=f"#{one['name']}-{one['preset']}"),
            f": {own.count('confirmed')} of {len(own)} claims confirmed",
            f", {own.count('not run')} not run" if "not run" in own else ""))
    return element("p", f"{counts or 'No claims'}.") + element("nav", element("ul", *items))


def page_of(documents):
    charts = [path for folder in CHART_FOLDERS
              if (path := pathlib.Path(folder, "chart.min.js")).exists()]
    if not charts:
        raise Failure(IO, "the page needs Chart.js 3: apt-get install libjs-chart.js")
    grids = [f"charts-{n}" for n in range(len(documents))]
    data = [{"grid": grid, "panels": [
        {**vars(panel), "lines": [line._asdict() for line in panel.lines]}
        for panel in all_panels(one)]} for grid, one in zip(grids, documents)]
    shown = json.dumps(data)
    for character in "<>&":  # JSON has these only in strings
        shown = shown.replace(character, f"\\u{ord(character):04x}")
    title = (documents[0]["title"] if len(documents) == 1 else
             f"{len(documents)} experiments, preset {documents[0]['preset']}")
    shared, own = ROOT / "apps/page", ROOT / "lab/report/page"

    def text(*paths):
        return "".join(path.read_text(encoding="utf-8") for path in paths)

    parts = {"TITLE": html.escape(title), "SUMMARY": summary_of(documents),
             "EXPERIMENTS": "".join(map(section, documents, grids)), "REPORT_DATA": shown,
             "PAGE_STYLE": text(shared / "style.css", own / "lab.css"),
             "PAGE_SCRIPT": text(*(shared / name for name in SHARED), own / "lab.js"),
             "CHART_LICENCE": text(ROOT / "cmake/licences/MIT.txt"),
             "CHART_LIBRARY": text(charts[0])}
    return re.sub("@([A-Z_]+)@", lambda mark: parts[mark[1]], text(own / "page.html"))
