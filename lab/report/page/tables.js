// SPDX-License-Identifier: Apache-2.0
// The tables: verdicts, results, the papers' figures, and the differences between arms.
"use strict";

const dash = "\u2013";

function fixed(number, digits = 3) {
  return number === null || number === undefined ? dash : number.toFixed(digits);
}

function signed(number, digits = 3) {
  if (number === null || number === undefined) return dash;
  return `${number < 0 ? "\u2212" : "+"}${Math.abs(number).toFixed(digits)}`;
}

function percent(fraction) {
  return fraction === undefined ? dash : `${(fraction * 100).toFixed(0)} %`;
}

function withInterval(summary, { scale = 1, digits = 3 } = {}) {
  if (!summary) return dash;
  const mean = fixed(summary.mean * scale, digits);
  if (!summary.interval) return mean;
  const reach = (summary.interval[1] - summary.interval[0]) / 2;
  return `${mean} \u00b1 ${fixed(reach * scale, digits)}`;
}

function cellOf(text, classes = "number") {
  return element("td", { class: classes }, text);
}

function headOf(...labels) {
  return element("tr", {}, ...labels.map((label) => element("th", { scope: "col" }, label)));
}

function byLoss(arms) {
  return [...arms].sort((one, other) => (one.loss?.mean ?? 0) - (other.loss?.mean ?? 0));
}

function resultsTable(experiment) {
  const { target } = experiment;
  const trained = experiment.arms.some(({ loss }) => loss !== null);
  const names = tableMetrics(experiment, trained);
  const rows = byLoss(experiment.arms).map((arm) => {
    const cpu = meanOf(arm.cells.map(({ cpu_s: seconds }) => seconds));
    const steps = meanOf(arm.cells.map((cell) => cell.steps));
    const best = arm.family !== "" && arm.best_of_family
      ? [element("span", { class: "badge" }, `best of ${arm.family}`)] : [];
    const fraction = arm.steps_to_target?.mean;
    return element("tr", {}, element("th", { scope: "row" }, arm.name, ...best),
      cellOf(arm.cells.map(({ seed }) => seed).join(", ")),
      ...(trained ? [cellOf(withInterval(arm.loss))] : []),
      ...(target ? [cellOf(percent(fraction))] : []),
      ...names.map((name) => cellOf(
        withInterval(arm.metrics[name], { scale: metricScale(name), digits: 1 }))),
      cellOf(cpu.toFixed(1)),
      ...(trained ? [cellOf(steps > 0 ? ((1000 * cpu) / steps).toFixed(0) : dash)] : []),
      cellOf(plain(arm.cells[0].parameters)));
  });
  const head = headOf("Encoding", "Seeds", ...(trained ? ["Loss at the end, nats"] : []),
    ...(target ? [`Steps until the loss is where ${target} ends`] : []),
    ...names.map(metricLabel),
    "CPU seconds", ...(trained ? ["CPU ms a step"] : []), "Parameters");
  const name = `Results of ${experiment.name}: mean over seeds, with half the 95 % interval where `
    + "there are several";
  return scrollingTable(name, "fit", head, rows);
}

const verdictClasses = new Map([
  ["confirmed", "confirmed"], ["contradicted", "contradicted"],
  ["not visible at this scale", "not-visible"], ["not run", "not-run"],
]);

function verdictBadge(verdict) {
  return element("span", { class: `verdict ${verdictClasses.get(verdict)}` }, verdict);
}

// The interval as a bar, the gap as a dot, 0 as a line, the margin as a broken one.
function intervalPicture({ gap, interval, margin }) {
  const values = [0, margin, gap, ...(interval ?? [])];
  const low = Math.min(...values);
  const span = Math.max(...values) - low || 1;
  const at = (value) => 6 + (148 * (value - low)) / span;
  const picture = drawing("svg",
    { width: 160, height: 18, viewBox: "0 0 160 18", class: "interval", "aria-hidden": "true" });
  const line = (x1, x2, y1, y2, stroke, more = {}) =>
    picture.append(drawing("line", { x1, x2, y1, y2, stroke, "stroke-width": 1.5, ...more }));
  line(at(0), at(0), 1, 17, "var(--line)");
  line(at(margin), at(margin), 1, 17, "var(--accent)", { "stroke-dasharray": "3 2" });
  if (interval) {
    line(at(interval[0]), at(interval[1]), 9, 9, "var(--text)", { "stroke-width": 3 });
  }
  picture.append(drawing("circle", { cx: at(gap), cy: 9, r: 4.5, fill: "var(--text)" }));
  return picture;
}

function gapCell(claim) {
  if (claim.gap === null) return element("td", {}, dash);
  const where = claim.interval === null ? "no interval"
    : `${signed(claim.interval[0])} to ${signed(claim.interval[1])}, over ${claim.interval_over}`;
  return element("td", {}, element("strong", {}, signed(claim.gap)), ` (${where})`,
    intervalPicture(claim));
}

function byArm(text, arm) {
  return arm === "" || text === arm || text.startsWith(`${arm} `) || text.startsWith(`${arm},`)
    ? text : `${text} (${arm})`;
}

function claimRow(claim) {
  const seeds = claim.gaps.map(({ seed, lower, higher }) =>
    `seed ${seed}: ${fixed(higher)} and ${fixed(lower)}`).join("; ");
  const what = `${byArm(claim.higher, claim.higher_arm)} less `
    + `${byArm(claim.lower, claim.lower_arm)} has to be at least ${signed(claim.margin, 2)}`;
  return element("tr", {}, element("td", {}, verdictBadge(claim.verdict)),
    element("td", { class: "statement" }, claim.statement, element("small", {}, what),
      ...(seeds ? [element("small", {}, seeds)] : [])), gapCell(claim));
}

function claimsTable(experiment) {
  return scrollingTable(`Claims of ${experiment.name}`, "whole",
    headOf("Verdict", "Claim", "Gap, and its 95 % interval"), experiment.claims.map(claimRow));
}

const units = { nats: "nats", perplexity: "perplexity", points: "points", percent: "%" };

function publishedTable({ label, source, unit, rows }) {
  const inNats = unit === "perplexity" ? ", in nats" : "";
  const first = rows[0]?.measure;
  const body = rows.map((row) => element("tr", {}, element("th", { scope: "row" }, row.measure),
    cellOf(plain(row.published)), cellOf(fixed(row.ours)),
    cellOf(signed(row.published_difference)), cellOf(signed(row.ours_difference))));
  const head = headOf("Encoding", `Published, ${units[unit]}`, "Here",
    `Published, less ${first}${inNats}`, `Here, less ${first}`);
  return element("div", {}, scrollingTable(label, "fit", head, body),
    element("p", { class: "caption" }, `Source: ${source}`));
}

function facts(pairs) {
  return element("dl", { class: "facts" }, ...pairs.flatMap(([name, value]) =>
    [element("dt", {}, name), element("dd", {}, value)]));
}

function settingsText(settings) {
  return Object.entries(settings ?? {}).map(([key, value]) =>
    `${key.replaceAll("_", " ")} ${typeof value === "object" ? JSON.stringify(value) : value}`)
    .join(", ");
}

// The settings of an arm that differ from those of the first.
function differing(arm, first, part) {
  const own = Object.entries(arm[part] ?? {}).filter(([key, value]) =>
    JSON.stringify(value) !== JSON.stringify(first[part]?.[key]));
  return own.length > 0 ? [`${part}: ${settingsText(Object.fromEntries(own))}`] : [];
}

function armsTable(experiment) {
  const [first] = experiment.arms;
  const rows = experiment.arms.map((arm) => {
    const { name: _name, ...encoding } = arm.encoding ?? {};
    const start = arm.start ? [`starts from ${arm.start.folder}`] : [];
    const rest = [
      ...differing(arm, first, "model"), ...differing(arm, first, "training"), ...start,
    ];
    return element("tr", {}, element("th", { scope: "row" }, arm.name),
      element("td", {}, settingsText(encoding)), element("td", {}, rest.join("; ") || dash));
  });
  return scrollingTable(`The encodings of ${experiment.name}`, "whole",
    headOf("Encoding", "Its settings", `What else is not as with ${first.name}`), rows);
}

function dataText({ name, origin, licence, sha256 }) {
  const from = origin ? `from ${origin}, licence: ${licence}` : "of an origin not known here";
  return `${name}, ${from}, SHA-256 ${sha256.slice(0, 16)}`;
}

function setup(experiment) {
  const [first] = experiment.arms;
  const { finished, of_preset: expected } = experiment.cells;
  const pairs = [
    ["Preset", `${experiment.preset}, ${finished} of ${expected} cells finished`],
    ["Model", settingsText(first.model)],
    ["Training", settingsText(first.training)],
    ...experiment.data.map((data) => ["Data", dataText(data)]),
    ...experiment.machines.map((machine) => ["Made with", machine]),
  ];
  return element("details", {}, element("summary", {}, "What was compared, on what"),
    facts(pairs), armsTable(experiment));
}
