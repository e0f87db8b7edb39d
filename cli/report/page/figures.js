// SPDX-License-Identifier: Apache-2.0
// The figures of the report, with all shown encodings overlaid.
"use strict";

// The range for a context: a rule that depends on the context has several ranges.
function rangeOf(subject, context) {
  return subject.ranges.find((range) => range.last === null || range.last >= context)
    ?? subject.ranges.at(-1);
}

function shownSubjects() {
  return report.subjects.filter((subject) => state.shown.has(subject.index));
}

// One key for each panel of each figure in the section, in the figures' order.
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

// The panel of each shown subject that has it.
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

// With several encodings a colour marks an encoding, else a series. Dashes and point shapes mark
// the same.
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

const mostLines = 6;  // more lines are hard to follow in a chart

// A chart of several encodings hides guides at first. If it has many lines, it first shows only the
// lines that its caption is about: the first two of each encoding, or the first.
function isUsual(panel, series, ordinal, encodings) {
  const shown = encodings * 2 <= mostLines ? 2 : 1;
  return series.style !== "dashed"
    && (panel.series.length * encodings <= mostLines || ordinal < shown);
}

// Chart.js takes an undefined range from the data, but not null.
function limited(axis) {
  return { ...axis, from: axis.from ?? undefined, to: axis.to ?? undefined };
}

function contentOf(section, parts) {
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

// Keys before the query have negative distances, which a logarithmic axis cannot show.
function distanceView(parts) {
  const signed = parts.some(({ panel }) => panel.series.some(({ x }) => x[0] < 0));
  if (signed) {
    const after = parts.some(({ panel }) => panel.series.some(({ x }) => x.at(-1) > 0));
    return { from: -state.distance, to: after ? state.distance : 0 };
  }
  const logarithmic = state.distanceScale === "logarithmic";
  return { from: logarithmic ? 1 : 0, to: state.distance, scale: state.distanceScale };
}

// The direction of each pair at position p: the fastest pair outside, the slowest near the middle.
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

// True for a rotary embedding of tokens. Patches have several positions and no context.
function readsTokens(subject) {
  return subject.kind === "rotary" && !subject.of_patches;
}
