// SPDX-License-Identifier: Apache-2.0
// Measures of cells besides losses: a number by its name, "bleu", or a curve of numbers by names
// with an abscissa, "overhead@512", "exact@2x".
"use strict";

// scale: what the number is multiplied with to be shown.
const metricNames = {
  accuracy: { label: "accuracy, %", scale: 100 },
  bleu: { label: "BLEU" },
  exact: { label: "answers that are exact, %", scale: 100 },
  f1: { label: "F1, %", scale: 100 },
  ms: { label: "ms of CPU for a step" },
  overhead: { label: "CPU time beyond that without positions, %", scale: 100 },
  perplexity: { label: "perplexity" },
};

function metricName(name) {
  return { scale: 1, label: name, ...metricNames[name] };
}

const pointOfCurve = /^(.+)@([0-9.]+)(x?)$/;

// name -> the unit of its abscissa: "x" for multiples of a length, "" for tokens.
function metricCurves(experiment) {
  const counts = new Map();
  for (const name of Object.keys(experiment.arms[0]?.metrics ?? {})) {
    const [, curve, , unit] = pointOfCurve.exec(name) ?? [];
    if (curve) counts.set(curve, { unit, count: (counts.get(curve)?.count ?? 0) + 1 });
  }
  return [...counts].filter(([, { count }]) => count > 1)
    .map(([name, { unit }]) => ({ name, unit }));
}

// Names of metrics that are no points of curves; all of them where nothing else was measured.
function tableMetrics(experiment, trained) {
  const all = experiment.arms.flatMap(({ metrics }) => Object.keys(metrics));
  const names = [...new Set(all)].filter((name) => !trained || !pointOfCurve.test(name));
  return names.sort((one, other) => one.localeCompare(other, "en", { numeric: true }));
}

// "ms of CPU for a step, 512"
function metricLabel(name) {
  const [, curve, number, unit] = pointOfCurve.exec(name) ?? [];
  return curve ? `${metricName(curve).label}, ${number}${unit}` : metricName(name).label;
}

function metricScale(name) {
  return metricName(pointOfCurve.exec(name)?.[1] ?? name).scale;
}

function metricContent(experiment, view, { name, unit }) {
  const { label, scale } = metricName(name);
  const entries = shownArms(experiment, view).map((arm) => {
    const points = arm.cells.map(({ metrics }) => Object.entries(metrics)
      .map(([key, value]) => ({ match: pointOfCurve.exec(key), value }))
      .filter(({ match }) => match?.[1] === name)
      .map(({ match, value }) => ({ x: Number(match[2]), y: value * scale }))
      .sort((one, other) => one.x - other.x));
    return lineOf(arm.name, lookOfArm(arm), points, false);
  }).filter(hasPoints);
  const x = unit === "x" ? "length, in multiples of the longest in training"
    : "tokens of a sequence";
  return { x: axisOf(x, entries), y: axis(label), marks: [], entries };
}
