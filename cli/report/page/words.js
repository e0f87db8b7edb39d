// SPDX-License-Identifier: Apache-2.0
// The page's text: warnings, a card for each config, the fields side by side, and what a chosen
// context means.
"use strict";

function writeWarnings(section) {
  const warnings = report.configs.flatMap(({ name, warnings: all }) => all.map((warning) =>
    element("p", { class: "warning" }, element("strong", {}, `${name}: `), warning)));
  if (warnings.length === 0) section.remove();
  else section.append(...warnings);
}

// Links to the page's sections.
function writeContents(nav) {
  const headings = document.querySelectorAll("main section:not([hidden]) > h2");
  nav.append(element("ul", {}, ...[...headings].map((heading) => element("li", {},
    element("a", { href: `#${heading.parentElement.id}` }, heading.textContent)))));
}

function writeCards(section) {
  const cards = report.configs.map((config) => {
    const card = element("article", { class: "card" },
      element("h3", {}, config.name), element("p", { class: "quiet" }, config.summary),
      ...config.sentences.map((sentence) => element("p", {}, sentence)));
    if (config.layers.length > 0) {
      card.append(element("ul", {},
        ...config.layers.map((line) => element("li", {}, line))));
    }
    return card;
  });
  section.append(element("div", { class: "cards" }, ...cards));
  for (const remark of report.remarks) section.append(element("p", {}, remark));
  for (const difference of report.differences) {
    section.append(
      element("h3", {}, `Where ${difference.one} and ${difference.other} part`),
      element("ul", {}, ...difference.sentences.map((line) => element("li", {}, line))));
  }
}

// One row for each field, one column for each encoding. Differences come first, marked by words and
// colour. In a comparison this section is the first on the page.
function writeFields(section) {
  const labels = new Map();
  for (const subject of report.subjects) {
    for (const field of subject.fields) {
      if (!labels.has(field.label)) labels.set(field.label, field);
    }
  }
  const all = [...labels.values()].map((field) => fieldRow(field));
  const rows = [...all.filter(differs), ...all.filter((row) => !differs(row))];
  const head = element("tr", {}, element("th", { scope: "col" }, "What it is"),
    ...report.subjects.map((subject) =>
      element("th", { scope: "col" }, ...breakable(subject.name))));
  if (report.subjects.length > 1) {
    document.getElementById("words").before(section);
    section.append(differencesControl(rows));
  }
  const name = "What the config says, and what each value does";
  section.append(scrollingTable(name, "whole", head, rows));
}

function fieldRow(field) {
  const values = report.subjects.map((subject) =>
    subject.fields.find((other) => other.label === field.label)?.value ?? "\u2013");
  const differing = values.some((value) => value !== values[0]);
  const heading = element("th", { scope: "row" }, ...breakable(field.label));
  if (differing) heading.append(element("span", { class: "badge" }, "differs"));
  heading.append(element("small", {}, field.meaning));
  return element("tr", differing ? { class: "differs" } : {},
    heading, ...values.map((value) => element("td", {}, value)));
}

function differs(row) {
  return row.classList.contains("differs");
}

function differencesControl(rows) {
  const count = rows.filter(differs).length;
  if (count === 0) return element("p", {}, "No field differs.");
  const box = element("input", { type: "checkbox", id: "differences-only" });
  box.checked = true;
  whenChanged(box, () => {
    for (const row of rows) row.hidden = box.checked && !differs(row);
  });
  return controls("Rows", element("label", { for: box.id }, box,
    `only ${count === 1 ? "the one that differs" : `the ${count} that differ`} of ${rows.length}`));
}

// A table for each config, open if there is only one.
function writeKeys(section) {
  const configs = report.configs.filter((config) => config.keys.length > 0);
  section.hidden = configs.length === 0;
  for (const config of configs) {
    const head = element("tr", {}, ...["Key", "What it does", "What happens"].map((text) =>
      element("th", { scope: "col" }, text)));
    const table = scrollingTable(`The keys of ${config.name}`, "whole", head,
      config.keys.map(keyRow));
    const details = element("details", {}, element("summary", {}, config.name), table);
    details.open = configs.length === 1;
    section.append(details);
  }
}

function keyRow(key) {
  const effects = key.effects.map(({ change, results }) =>
    element("div", {}, `${change}: `, element("ul", {},
      ...results.map((result) => element("li", {}, result)))));
  return element("tr", {},
    element("th", { scope: "row" }, ...breakable(key.path), element("small", {}, key.value)),
    element("td", {}, key.meaning), element("td", {}, element("em", {}, key.use), ...effects));
}

function turningPairs(frequencies, context) {
  return frequencies.filter((frequency) => Math.abs(frequency) * context >= 2 * Math.PI).length;
}

// For each rotary encoding, a line about the chosen context.
function contextLines() {
  return shownSubjects().filter(readsTokens).map((subject) => {
    const range = rangeOf(subject, state.context);
    const pairs = range.inv_freq.length;
    const turning = turningPairs(range.inv_freq, state.context);
    let line = `${subject.name}: ${turning} of ${pairs} pairs complete a turn within `
      + `${tokens(state.context)}.`;
    const trained = subject.trained_context_tokens;
    if (trained !== null && state.context > trained) {
      const times = Number((state.context / trained).toPrecision(3));
      line += ` That is ${plain(times)} times the context that it states, `
        + `${tokens(trained)}, within which ${turningPairs(range.inv_freq, trained)} do.`;
    }
    if (subject.ranges.length > 1) {
      line += ` Its frequencies depend on the context; these are those of `
        + `${range.first === range.last || range.last === null
          ? `${tokens(range.first)}${range.last === null ? " and more" : ""}`
          : `${plain(range.first)} to ${tokens(range.last)}`}.`;
    }
    return line;
  });
}
