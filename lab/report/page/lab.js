// SPDX-License-Identifier: Apache-2.0
// Draws each experiment's charts from its panels: means over seeds, in bands of their range.
"use strict";

// Each colour has a contrast of 3 to 1. Colour-blind readers can tell lines of one dash apart.
const lineColours = {
  light: ["#0072B2", "#D55E00", "#007A59", "#000000", "#AA3377", "#7A6A00"],
  dark: ["#56B4E9", "#E69F00", "#00B583", "#FFFFFF", "#E08BBD", "#F0E442"],
};
const lineDashes = [[], [8, 4], [2, 3], [10, 3, 2, 3]];

function entryOf(line) {
  const colours = darkGround.matches ? lineColours.dark : lineColours.light;
  const look = {
    colour: colours[line.colour % colours.length], dash: lineDashes[line.dash % lineDashes.length],
  };
  const edge = (key) => line.x.map((x, index) => ({ x, y: line[key][index] }));
  const mean = {
    label: line.name, column: line.name, data: edge("mean"), borderColor: look.colour,
    backgroundColor: look.colour, borderWidth: 2, borderDash: look.dash,
    pointRadius: line.x.length <= 12 ? 2.5 : 0, pointHitRadius: 6,
  };
  const entry = { name: line.name, look, usual: true, datasets: [mean] };
  if (line.x.every((_, index) => line.least[index] === line.most[index])) return entry;
  const bare = { ...mean, label: "", borderWidth: 0, pointRadius: 0, pointHitRadius: 0 };
  entry.datasets.push(
    { ...bare, column: `${line.name}, highest seed`, data: edge("most"), fill: "+1",
      backgroundColor: `${look.colour}30` },
    { ...bare, column: `${line.name}, lowest seed`, data: edge("least") });
  return entry;
}

function contentOf({ x, y, lines, mark, logarithmic }) {
  const axis = (label, scale) => ({ label, scale, from: undefined, to: undefined });
  return {
    x: axis(x, logarithmic ? "logarithmic" : "linear"), y: axis(y, "linear"),
    marks: mark ? [{ direction: "horizontal", at: mark[0], label: mark[1] }] : [],
    entries: lines.map(entryOf),
  };
}

Chart.defaults.font.family = "system-ui, sans-serif";
const drawn = dataOfPage("report-data").flatMap(({ grid, panels }) => panels.map((described) => {
  const panel = makePanel(described.title || described.y, described.caption);
  document.getElementById(grid).append(panel.card);
  return () => drawPanel(panel, contentOf(described));
}));
const drawAll = () => drawn.forEach((draw) => draw());
drawAll();
darkGround.addEventListener("change", drawAll);
