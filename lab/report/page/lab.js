// SPDX-License-Identifier: Apache-2.0
// Puts the page together from the results, once, and draws the charts of an experiment again when
// one of its controls changes.
"use strict";

const report = dataOfPage("report-data");

function shownArms(experiment, view) {
  return experiment.arms.filter(({ name }) => view.shown.has(name));
}

// The arms as check boxes, each with a piece of its line, for all charts of the experiment.
function shownControl(experiment, view, redraw) {
  const items = experiment.arms.map((arm, index) => {
    const box = element("input", { type: "checkbox", id: `${experiment.name}-shown-${index}` });
    box.addEventListener("input", () => {
      if (box.checked) view.shown.add(arm.name);
      else view.shown.delete(arm.name);
      redraw();
    });
    const place = element("span", { "aria-hidden": "true" });
    return { arm, box, place, label: element("label", { for: box.id }, box, place, arm.name) };
  });
  const update = () => {
    for (const { arm, box, place } of items) {
      box.checked = view.shown.has(arm.name);
      place.replaceChildren(sample(lookOfArm(arm)));
    }
  };
  const button = (text, names) => {
    const made = element("button", { type: "button" }, text);
    made.addEventListener("click", () => {
      view.shown = new Set(names);
      redraw();
    });
    return made;
  };
  const made = controls("Shown", ...items.map(({ label }) => label),
    element("span", {}, button("all", experiment.arms.map(({ name }) => name)), " ",
      button("none", [])));
  made.classList.add("chosen");
  return { made, update };
}

function toggle(id, label, act) {
  const box = element("input", { type: "checkbox", id });
  box.addEventListener("input", () => act(box.checked));
  return element("label", { for: id }, box, label);
}

function curveControls(experiment, view, redraw) {
  const set = (key) => (value) => {
    view[key] = value;
    redraw();
  };
  const { name } = experiment;
  return element("div", { class: "bars" },
    choice(`${name}-x`, "Against", [["step", "steps"], ["tokens", "tokens"],
      ["cpu_s", "CPU seconds"]], view.x, set("x")),
    choice(`${name}-loss`, "Loss", [["validation", "validation"], ["training", "training"]],
      view.loss, set("loss")),
    controls("Logarithmic", toggle(`${name}-log-x`, "across", set("logarithmicX")),
      toggle(`${name}-log-y`, "upwards", set("logarithmicY"))));
}

function lengthControls(experiment, view, redraw) {
  const set = (key) => (value) => {
    view[key] = value;
    redraw();
  };
  const { name } = experiment;
  const made = element("div", { class: "bars" });
  if (hasLastQuarters(experiment)) {
    made.append(choice(`${name}-bytes`, "Against length",
      [["last_quarter", "last quarter of the text"], ["loss", "all of it"]], view.bytes,
      set("bytes")));
  }
  if (hasPositions(experiment)) {
    made.append(choice(`${name}-multiple`, "By position, sequences of",
      multiplesOf(experiment).map((multiple) => [multiple, `${multiple}\u00d7`]), view.multiple,
      set("multiple")));
  }
  return made;
}

// Which encoding the charts of rules are about.
function ruleControls(experiment, view, redraw) {
  const ruled = experiment.arms.filter(hasRules);
  const select = element("select", { id: `${experiment.name}-ruled` },
    ...ruled.map(({ name }) => element("option", { value: name }, name)));
  select.value = view.ruled;
  select.addEventListener("input", () => {
    view.ruled = select.value;
    redraw();
  });
  return controls("Stretched by rules",
    element("label", { for: select.id }, "encoding ", select));
}

const curvesTitle = "Loss while training";

function hasLastQuarters({ arms }) {
  return arms.some(({ cells }) => cells[0].lengths.some((one) => one.last_quarter !== null));
}

function hasPositions({ arms }) {
  return arms.some(({ cells }) => cells[0].lengths.some(({ by_position: all }) => all.length > 0));
}

// The panels of an experiment.
function panelsOf(experiment, view) {
  const panels = [];
  const add = (group, title, caption, content) => panels.push({ group, title, caption, content });
  if (experiment.arms.some(({ cells }) => cells[0].curve.step.length > 1)) {
    add("training", curvesTitle,
      "The mean over seeds; the band goes from the least to the most of them.",
      () => curveContent(experiment, view));
  }
  for (const curve of metricCurves(experiment)) {
    add("metrics", metricName(curve.name).label, "",
      () => metricContent(experiment, view, curve));
  }
  if (multiplesOf(experiment).length > 1) addLengthPanels(experiment, view, add);
  return panels;
}

function addLengthPanels(experiment, view, add) {
  add("length", "Longer sequences", "Finished models on the same text, cut into longer sequences, "
    + "without training. Learned positions end where their table ends.",
  () => lengthsContent(experiment, view));
  if (hasPositions(experiment)) {
    add("length", "Where in the sequence", "Each point is the mean over an eighth of "
      + `${tokens(unitTokens(experiment.arms[0]))}. All lines rise and fall with the same text: `
      + "look at what is between them.", () => positionsContent(experiment, view));
  }
  if (!experiment.arms.some(hasRules)) return;
  const ruled = () => experiment.arms.find(({ name }) => name === view.ruled);
  add("rules", "Stretched by a rule", "The frequencies changed for the longer sequence, without "
    + "training.", () => ruleLengthsContent(ruled(), view));
  if (hasPositions(experiment)) {
    add("rules", "By a rule, where in the sequence", "",
      () => rulePositionsContent(ruled(), view));
  }
}

function makePanels(group, panels) {
  const grid = element("div", { class: "panels" });
  for (const one of panels.filter((panel) => panel.group === group)) {
    const wide = one.title === curvesTitle;
    one.panel = makePanel(one.title, one.caption, wide ? "tall" : "");
    one.panel.plugins = [endLabelPlugin];
    if (wide) one.panel.card.classList.add("wide");
    grid.append(one.panel.card);
  }
  return grid;
}

function initialView(experiment) {
  const ruled = experiment.arms.filter(hasRules);
  return {
    shown: new Set(experiment.arms.map(({ name }) => name)),
    x: "step", loss: "validation", logarithmicX: false, logarithmicY: false,
    bytes: hasLastQuarters(experiment) ? "last_quarter" : "loss",
    multiple: Math.max(1, ...multiplesOf(experiment)),
    ruled: (ruled.find(({ name }) => name === "rope") ?? ruled[0])?.name,
  };
}

function drawAll(experiment, view, panels) {
  for (const one of panels) {
    const content = one.content();
    // The arms have one list for all charts; what else there is has its own.
    if (one.group === "rules") one.panel.caption = `${view.ruled}: ${one.caption}`;
    drawPanel(one.panel, content);
    if (one.group !== "rules") one.panel.legend.box.hidden = true;
  }
}

function writeExperiment(experiment, place) {
  const id = `${experiment.name}-${experiment.preset}`;
  const made = element("section", { id, "aria-labelledby": `${id}-heading` },
    element("h2", { id: `${id}-heading` }, experiment.title),
    element("p", {}, `Mirrors: ${experiment.mirrors}.`),
    ...experiment.remarks.map((text) => element("p", { class: "warning" }, text)));
  place.append(made);
  if (experiment.arms.length === 0) {
    made.append(element("p", {}, "No cell of this preset is finished."));
    return () => {};
  }
  const view = initialView(experiment);
  const panels = panelsOf(experiment, view);
  let redraw = () => {};
  const change = () => redraw();
  const shown = shownControl(experiment, view, change);
  const heading = (text) => element("h3", {}, text);
  if (experiment.claims.length > 0) made.append(heading("Claims"), claimsTable(experiment));
  made.append(heading("Results"), resultsTable(experiment), setup(experiment));
  if (experiment.published.length > 0) {
    made.append(heading("Beside what was published"), element("p", {}, "Sizes, data and steps "
      + "differ by orders of magnitude: what may be compared is the sign of differences and, with "
      + "care, their order."), ...experiment.published.map(publishedTable));
  }
  if (panels.length > 0) made.append(heading("Charts"), shown.made);
  for (const [group, bar] of [["training", curveControls], ["metrics", null],
    ["length", lengthControls], ["rules", ruleControls]]) {
    if (!panels.some((one) => one.group === group)) continue;
    if (bar) made.append(bar(experiment, view, change));
    made.append(makePanels(group, panels));
  }
  redraw = () => {
    shown.update();
    drawAll(experiment, view, panels);
  };
  return redraw;
}

function writeSummary(section) {
  const counts = new Map();
  for (const { claims } of report.experiments) {
    for (const { verdict } of claims) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  }
  const text = [...counts].map(([verdict, count]) => `${count} ${verdict}`).join(", ");
  section.append(element("p", {}, `${text || "No claims"}.`));
  section.append(element("nav", { "aria-label": "Experiments" }, element("ul", {},
    ...report.experiments.map(({ name, preset, title, claims }) => {
      const confirmed = claims.filter(({ verdict }) => verdict === "confirmed").length;
      const notRun = claims.filter(({ verdict }) => verdict === "not run").length;
      return element("li", {}, element("a", { href: `#${name}-${preset}` }, title),
        `: ${confirmed} of ${claims.length} claims confirmed`,
        notRun ? `, ${notRun} not run` : "");
    }))));
}

function start() {
  const presets = new Intl.ListFormat("en").format(
    [...new Set(report.experiments.map(({ preset }) => preset))]);
  const title = report.experiments.length === 1 ? report.experiments[0].title
    : `${report.experiments.length} experiments, preset ${presets}`;
  document.title = `rotary-lab report: ${title}`;
  document.getElementById("title").textContent = title;
  document.getElementById("origin").textContent = `Made by rotary-lab ${report.rotary}. The page `
    + "holds all its data and needs no network; `rotary-lab results --json` prints them.";
  registerLooks(report.experiments);
  writeSummary(document.getElementById("summary"));
  Chart.defaults.font.family = "system-ui, sans-serif";
  const place = document.getElementById("experiments");
  const redraws = report.experiments.map((experiment) => writeExperiment(experiment, place));
  const redrawAll = () => redraws.forEach((redraw) => redraw());
  redrawAll();
  darkGround.addEventListener("change", redrawAll);
}

start();
