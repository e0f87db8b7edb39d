// SPDX-License-Identifier: Apache-2.0
// Builds the page from the report's data once, and redraws a section when one of its controls
// changes.
"use strict";

const report = dataOfPage("report-data");
report.subjects.forEach((subject, index) => { subject.index = index; });

const state = {
  shown: new Set(report.subjects.map((subject) => subject.index)),
  context: report.context,
  position: 0,
  distance: 256,
  distanceScale: "linear",
};

const sections = [
  { id: "context", heading: "How far it reaches", controls: contextControls,
    intro: "Each pair of features rotates at its own speed. A pair that never finishes a turn "
      + "in the context it was trained on meets angles beyond it that the model has never seen." },
  { id: "scaling", heading: "What the scaling rule changes",
    intro: "A scaling rule slows pairs down, so that a longer context stays within angles that are "
      + "known." },
  { id: "position", heading: "Where the pairs point", controls: positionControls, dial: true,
    intro: "A token's queries and keys are rotated by its position, each pair at its own speed. "
      + "What a score sees is the difference of two such pictures, that is the distance of the "
      + "tokens." },
  { id: "distance", heading: "What distance does to a score", controls: distanceControls,
    intro: "Rotated scores tend to shrink with distance only if query and key are similar, and "
      + "not steadily; for any distance there is a key that scores highest there. Biases are added "
      + "to scores: ALiBi's fall with distance, T5's are whatever was learned." },
  { id: "axes", heading: "Which coordinate rotates which pair",
    intro: "A patch of an image or a video has a position on each of several axes. Each pair of "
      + "features rotates by one of them and ignores the others." },
  { id: "accuracy", heading: "How exact the angles are",
    intro: "Programs form position times frequency in float32 or less, and far from the start the "
      + "angle is wrong by what that rounds away." },
];

function makeSection(section, place) {
  const keys = panelKeys(section.id);
  const rotary = report.subjects.some(readsTokens);
  if (keys.length === 0 && !(section.dial && rotary)) return () => {};
  const headingId = `${section.id}-heading`;
  const grid = element("div", { class: "panels" });
  const status = element("ul", { class: "status", "aria-live": "polite" });
  const made = element("section", { id: `${section.id}-charts`, "aria-labelledby": headingId },
    element("h2", { id: headingId }, section.heading), element("p", {}, section.intro));
  const panels = keys.map((key) => {
    const caption = key.index === 0 && mapsOf(key.figure).length === 0 ? key.figure.caption : "";
    const panel = makePanel(panelTitle(key), caption);
    grid.append(panel.card);
    return { key, panel };
  });
  const drawMaps = section.id === "axes" ? makeMaps("axes", grid) : () => {};
  const dial = section.dial ? makePanel("The pairs at this position",
    "Each dot is a pair, the fastest on the outside, the slowest near the middle; at position 0 "
    + "all lie on the line to the right.", "square") : null;
  if (dial) grid.append(dial.card);
  const redraw = () => {
    if (!made.isConnected) return;
    for (const { key, panel } of panels) {
      const parts = partsOf(key);
      panel.card.hidden = parts.length === 0;
      if (parts.length > 0) drawPanel(panel, contentOf(section.id, parts));
    }
    drawMaps();
    if (dial) drawPanel(dial, dialContent());
    if (section.id === "context") {
      status.replaceChildren(...contextLines().map((line) => element("li", {}, line)));
    }
  };
  // A rule may depend on the context, so everything is redrawn.
  const change = section.id === "context" ? redrawAll : redraw;
  if (section.controls) made.append(section.controls(change));
  if (section.id === "context") made.append(status);
  made.append(grid);
  place.append(made);
  return redraw;
}

// A panel's title, without the encoding's name that figures about one encoding add.
function panelTitle({ figure, panel, index }) {
  if (mapsOf(figure).length > 0) return panel.title[0].toUpperCase() + panel.title.slice(1);
  let { title } = figure;
  for (const { name } of report.subjects) title = title.replace(` (${name})`, "");
  if (panel.title !== "") return `${title}: ${panel.title}`;
  if (index === 0) return title;
  return `${title}: ${panel.x.scale === "logarithmic" ? "far away" : panel.y.label}`;
}

let redraws = [];
function redrawAll() {
  for (const swatch of document.querySelectorAll(".swatch")) {
    swatch.style.borderTopColor = paletteColour(Number(swatch.dataset.subject));
  }
  for (const redraw of redraws) redraw();
}

function start() {
  const names = new Intl.ListFormat("en").format(report.configs.map((config) => config.name));
  document.title = `rotary report: ${names}`;
  document.getElementById("title").textContent = names;
  document.getElementById("origin").textContent =
    `Made by rotary ${report.version}. The page holds all its data and needs no network; `
    + "`rotary plot NAME CONFIG --csv` gives the points of a figure.";
  writeWarnings(document.getElementById("warnings"));
  writeCards(document.getElementById("words"));
  writeFields(document.getElementById("fields"));
  writeKeys(document.getElementById("keys"));
  Chart.defaults.font.family = "system-ui, sans-serif";
  const place = document.getElementById("charts");
  if (report.subjects.length > 1) place.append(chosenSubjects(redrawAll));
  redraws = [() => drawTried(), ...sections.map((section) => makeSection(section, place))];
  writeTry(document.getElementById("try"));
  writeContents(document.getElementById("contents"));
  redrawAll();
  darkGround.addEventListener("change", redrawAll);
}

start();
