// SPDX-License-Identifier: Apache-2.0
// The heat maps of a figure, side by side in a card: cells on a canvas (the lightest is the
// highest), a scale below, and the numbers as tables.
"use strict";

// Viridis (matplotlib, CC0) at equal steps: lightness alone shows the value.
const mapColours = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];

function mapColour(share) {
  const place = Math.min(Math.max(share, 0), 1) * (mapColours.length - 1);
  const from = Math.min(Math.floor(place), mapColours.length - 2);
  const mixed = mapColours[from].map((start, channel) =>
    Math.round(start + (place - from) * (mapColours[from + 1][channel] - start)));
  return `rgb(${mixed.join(" ")})`;
}

// Cells are whole pixels, which the style enlarges.
function paintMap(canvas, { rows, columns, values, lowest, highest }) {
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d");
  values.forEach((line, row) => line.forEach((value, column) => {
    if (value === null) return;
    context.fillStyle = mapColour((value - lowest) / (highest - lowest));
    context.fillRect(column, row, 1, 1);
  }));
}

function mapTable({ map, title, x, y }) {
  const details = element("details", {}, element("summary", {}, "The numbers as a table"));
  details.addEventListener("toggle", () => {
    if (!details.open || details.children.length > 1) return;
    const head = element("tr", {}, element("th", { scope: "col" }, `${y.label}, ${x.label}`),
      ...map.values[0].map((_, column) => element("th", { scope: "col" }, plain(column))));
    const body = map.values.map((line, row) =>
      element("tr", {}, element("th", { scope: "row" }, plain(row)), ...line.map((value) =>
        element("td", { class: "number" }, plain(Number(value?.toFixed(3)))))));
    details.append(scrollingTable(`${title}: ${map.label}`, "", head, body));
  });
  return details;
}

function mapOf(panel, name) {
  const { map } = panel;
  const title = name === "" ? panel.title : `${name}: ${panel.title}`;
  const canvas = element("canvas", { role: "img", "aria-label":
    `${title}. ${panel.x.label} to the right, ${panel.y.label} down, ${map.label} as colour. `
    + "The numbers are in the table below." });
  paintMap(canvas, map);
  const colours = mapColours.map((_, index) => mapColour(index / (mapColours.length - 1)));
  const bar = element("span", { class: "bar" });
  bar.style.background = `linear-gradient(to right, ${colours.join(", ")})`;
  return element("figure", {}, element("figcaption", {}, title), canvas,
    element("p", { class: "scale" }, `${map.label}: ${plain(map.lowest)}`, bar,
      plain(map.highest)),
    mapTable({ ...panel, title }));
}

function mapsOf(figure) {
  return figure.panels.filter((panel) => panel.map);
}

// The maps of every shown encoding. They change only with the encodings and the range.
function makeMaps(name, place) {
  const known = report.subjects.flatMap(({ ranges }) => ranges.flatMap(({ figures }) =>
    figures.map(({ figure }) => figure).filter((figure) => figure.name === name)));
  const maps = element("div", { class: "maps" });
  const card = element("article", { class: "panel" }, element("h3", {},
    "What a patch's score with the patches around it is"),
  element("p", { class: "caption" }, known[0].caption), maps);
  place.classList.add("stacked");
  place.append(card);
  return () => {
    const shown = shownSubjects().flatMap((subject) => {
      const found = rangeOf(subject, state.context).figures.find(
        ({ figure }) => figure.name === name);
      const prefix = report.subjects.length > 1 ? subject.name : "";
      return found ? mapsOf(found.figure).map((panel) => mapOf(panel, prefix)) : [];
    });
    card.hidden = shown.length === 0;
    maps.replaceChildren(...shown);
  };
}
