// SPDX-License-Identifier: Apache-2.0
// A chart's legend as ordinary check boxes. Lines can be hidden by keyboard, and a screen reader
// says which lines are shown.
"use strict";

// Redraws the legend only if it changed, so that it keeps the focus.
function drawLegend(panel, redraw) {
  const { entries } = panel.content;
  const key = JSON.stringify(entries.map(({ name, look }) => [name, look]));
  if (key === panel.legendKey) return;
  const box = panel.legend;
  box.hidden = entries.length < 2;
  panel.legendKey = key;
  box.replaceChildren(
    element("legend", { class: "visually-hidden" }, `Lines of ${panel.title}`),
    ...entries.map((entry) => legendItem(panel, entry, redraw)));
}

function legendItem(panel, entry, redraw) {
  const box = element("input", { type: "checkbox" });
  box.checked = panel.chosen.get(entry.name) ?? entry.usual;
  box.addEventListener("input", () => {
    panel.chosen.set(entry.name, box.checked);
    redraw();
  });
  return element("label", {}, box, sample(entry.look), entry.name);
}

function drawing(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// A short piece of the line, or a point.
function sample({ colour, dash, points, band }) {
  const made = drawing("svg", { width: 30, height: 14, "aria-hidden": "true" });
  if (band) {
    made.append(drawing("rect",
      { x: 1, y: 2, width: 28, height: 10, fill: colour, opacity: 0.35 }));
  } else if (points) {
    made.append(pointSample(points, colour));
  } else {
    made.append(drawing("line",
      { x1: 1, x2: 29, y1: 7, y2: 7, stroke: colour, "stroke-width": 3,
        "stroke-dasharray": dash.join(" ") }));
  }
  return made;
}

// The shapes of pointShapes, as Chart.js draws them.
function pointSample(shape, colour) {
  const paths = {
    triangle: "M15 2 L20 11 L10 11 Z",
    rect: "M11 3 h8 v8 h-8 Z",
    rectRot: "M15 1 L21 7 L15 13 L9 7 Z",
  };
  if (shape in paths) return drawing("path", { d: paths[shape], fill: colour });
  return drawing("circle", { cx: 15, cy: 7, r: 4.5, fill: colour });
}
