// SPDX-License-Identifier: Apache-2.0
// The figures of the report: those of all encodings that are shown, laid over one another.
"use strict";

// The range that holds at a context's length: where a rule depends on it there are several.
function rangeOf(subject, context) {
  return subject.ranges.find((range) => range.last === null || range.last >= context)
    ?? subject.ranges.at(-1);
}

function shownSubjects() {
  return report.subjects.filter((subject) => state.shown.has(subject.index));
}

// One entry for each panel of each figure of the section, in the order of the figures.
function panelKeys(section) {
  const keys = new Map();
  for (const subject of report.subjects) {
    for (const range of subject.ranges) {
      for (const { section: id, figure } of range.figures) {
        if (id !== section) continue;
        figure.panels.forEach((panel, index) => {
          if (panel.map) return;  // maps.js draws it
          const key = `${figure.name} ${index}`;
          if (!keys.has(key)) keys.set(key, { name: figure.name, index, figure, panel });
        });
      }
    }
  }
  return [...keys.values()];
}

// The panel of each subject that is shown and has it.
function partsOf(key) {
  const parts = [];
  for (const subject of shownSubjects()) {
    const found = rangeOf(subject, state.context).figures.find(
      ({ figure }) => figure.name === key.name);
    const panel = found?.figure.panels[key.index];
    if (panel) parts.push({ subject, panel });
  }
  return parts;
}

function seriesName(subject, series) {
  const { name } = series;
  if (report.subjects.length === 1 || name === subject.name) return name || subject.name;
  return name === "" ? subject.name : `${subject.name}: ${name.replace(`${subject.name}, `, "")}`;
}

function marksOf(parts) {
  const marks = new Map();
  for (const { subject, panel } of parts) {
    for (const mark of panel.marks) {
      const key = `${mark.direction} ${mark.at}`;
      const known = marks.get(key);
      if (!known) {
        const colour = parts.length > 1 ? paletteColour(subject.index) : undefined;
        marks.set(key, { ...mark, colour });
      } else if (known.label !== mark.label) {
        marks.set(key, { ...known, label: `${known.label}; ${mark.label}`, colour: undefined });
      }
    }
  }
  return [...marks.values()];
}

// Colour tells encodings apart where there are several, otherwise series; dashes and points say it
// once more.
function lookOf(subject, series, ordinal) {
  const single = report.subjects.length === 1;
  return {
    colour: paletteColour(single ? (series.color ?? ordinal) : subject.index),
    dash: series.style === "dashed" ? [1, 4]
      : dashes[(ordinal * report.subjects.length + subject.index) % dashes.length],
    points: series.style === "points" && series.x.length <= 400
      ? pointShapes[(single ? ordinal : subject.index) % pointShapes.length] : null,
    band: series.style === "band",
  };
}

function entriesOf(parts, x) {
  const view = { from: x.from ?? -Infinity, to: x.to ?? Infinity, scale: x.scale };
  return parts.flatMap(({ subject, panel }) => {
    let ordinal = 0;
    return panel.series.map((series) => {
      const look = lookOf(subject, series, ordinal);
      const usual = parts.length === 1 || isUsual(panel, series, ordinal, parts.length);
      if (!look.band) ++ordinal;
      const name = seriesName(subject, series);
      return { name, look, usual, datasets: datasetsOf(series, { ...look, name }, view) };
    });
  });
}

const mostLines = 6;  // that an eye follows in one chart

// With several encodings in a chart, guides wait to be asked for, and of many lines all but the
// first two of each encoding, or the first one: of similarity they are what its caption is about.
function isUsual(panel, series, ordinal, encodings) {
  const shown = encodings * 2 <= mostLines ? 2 : 1;
  return series.style !== "dashed"
    && (panel.series.length * encodings <= mostLines || ordinal < shown);
}

// Chart.js takes what is undefined, and not null, for what the data need.
function limited(axis) {
  return { ...axis, from: axis.from ?? undefined, to: axis.to ?? undefined };
}

function contentOf(key, section, parts) {
  const [first] = parts;
  const x = limited(first.panel.x);
  const y = limited(first.panel.y);
  if (section === "distance" && x.scale === "linear") Object.assign(x, distanceView(parts));
  const marks = marksOf(parts);
  if (section === "context") {
    marks.push({ direction: "horizontal", at: state.context, dash: [],
      label: `chosen context: ${plain(state.context)}`, colour: themeColour("text") });
  }
  return { x, y, marks, entries: entriesOf(parts, x) };
}

// Keys before the query have negative distances, which have no logarithm.
function distanceView(parts) {
  const signed = parts.some(({ panel }) => panel.series.some(({ x }) => x[0] < 0));
  if (signed) {
    const after = parts.some(({ panel }) => panel.series.some(({ x }) => x.at(-1) > 0));
    return { from: -state.distance, to: after ? state.distance : 0 };
  }
  const logarithmic = state.distanceScale === "logarithmic";
  return { from: logarithmic ? 1 : 0, to: state.distance, scale: state.distanceScale };
}

// Where position p turns each pair: the fastest pair outside, the slowest near the middle.
function dialContent() {
  const entries = shownSubjects().filter(readsTokens).map((subject) => {
    const { inv_freq: frequencies } = rangeOf(subject, state.context);
    const colour = paletteColour(subject.index);
    const points = pointShapes[subject.index % pointShapes.length];
    const data = frequencies.map((frequency, pair) => {
      const radius = 1 - pair / frequencies.length;
      const angle = state.position * frequency;
      return { x: radius * Math.cos(angle), y: radius * Math.sin(angle) };
    });
    const dataset = { label: subject.name, column: subject.name, data, backgroundColor: colour,
      borderColor: colour, showLine: false, pointRadius: 3.5, pointStyle: points };
    return { name: subject.name, usual: true, look: { colour, points }, datasets: [dataset] };
  });
  const limits = { scale: "linear", from: -1.1, to: 1.1 };
  return {
    entries,
    marks: [],
    x: { ...limits, label: "first feature of the pair" },
    y: { ...limits, label: "second feature" },
  };
}

// A rotary embedding of tokens, not of patches, which have no one position and no context.
function readsTokens(subject) {
  return subject.kind === "rotary" && !subject.of_patches;
}
