// SPDX-License-Identifier: Apache-2.0
// From the cells of an arm to lines: the mean over seeds, within a band from the least to the most.
"use strict";

function meanOf(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

// points: for each seed a list of {x, y}, in the order of x. Those that every seed has are kept.
function lineOf(name, look, pointsOfSeeds, logarithmicX) {
  const count = Math.min(...pointsOfSeeds.map((points) => points.length));
  const rows = [];
  for (let index = 0; index < count; ++index) {
    const ys = pointsOfSeeds.map((points) => points[index].y);
    const x = meanOf(pointsOfSeeds.map((points) => points[index].x));
    if (ys.some((y) => y === null || !Number.isFinite(y)) || (logarithmicX && !(x > 0))) continue;
    rows.push({ x, mean: meanOf(ys), least: Math.min(...ys), most: Math.max(...ys) });
  }
  const edge = (key) => rows.map((row) => ({ x: row.x, y: row[key] }));
  const line = {
    label: name, column: name, endLabel: name, data: edge("mean"), borderColor: look.colour,
    backgroundColor: look.colour, borderWidth: 2, borderDash: look.dash,
    pointRadius: rows.length <= 12 ? 2.5 : 0, pointHitRadius: 6,
  };
  if (pointsOfSeeds.length < 2) return { name, look, usual: true, datasets: [line] };
  const bare = {
    ...line, label: "", endLabel: "", borderWidth: 0, pointRadius: 0, pointHitRadius: 0,
  };
  return {
    name, look, usual: true,
    datasets: [line,
      { ...bare, column: `${name}, highest seed`, data: edge("most"), fill: "+1",
        backgroundColor: `${look.colour}30` },
      { ...bare, column: `${name}, lowest seed`, data: edge("least") }],
  };
}

// A logarithmic axis with ticks at the abscissas of the lines, which are few.
function axisOf(label, entries) {
  const all = entries.flatMap(({ datasets }) => datasets[0].data.map(({ x }) => x));
  const at = [...new Set(all)].sort((one, other) => one - other);
  return { ...axis(label, true), from: at[0], to: at.at(-1), at };
}

function axis(label, logarithmic = false) {
  return { label, scale: logarithmic ? "logarithmic" : "linear", from: undefined, to: undefined };
}

const xAxes = {
  step: "steps",
  tokens: "tokens seen",
  cpu_s: "CPU seconds of training",
};

function curveContent(experiment, view) {
  const entries = shownArms(experiment, view).filter((arm) => arm.cells[0].curve.step.length > 0)
    .map((arm) => lineOf(arm.name, lookOfArm(arm), arm.cells.map(({ curve }) =>
      curve[view.x].map((x, index) => ({ x, y: curve[view.loss][index] }))), view.logarithmicX));
  const target = experiment.arms.find(({ name }) => name === experiment.target);
  const marks = target && view.loss === "validation"
    ? [{ direction: "horizontal", at: target.loss.mean, label: `where ${target.name} ends` }] : [];
  return {
    x: axis(xAxes[view.x], view.logarithmicX),
    y: axis(`${view.loss} loss, nats`, view.logarithmicY), marks, entries,
  };
}

function lengthOf(cell, multiple, rule) {
  return cell.lengths.find((length) => length.multiple === multiple && length.rule === rule);
}

function multiplesOf(experiment) {
  const all = experiment.arms.flatMap(({ cells }) =>
    cells[0].lengths.map(({ multiple }) => multiple));
  return [...new Set(all)].sort((one, other) => one - other);
}

// Loss against the length of the sequences, by a rule ("": as trained).
function lengthLine(arm, name, look, rule, view) {
  const points = arm.cells.map((cell) => cell.lengths
    .filter((length) => length.rule === rule || (rule !== "" && length.multiple === 1))
    .map((length) => ({ x: length.multiple, y: length[view.bytes] }))
    .filter(({ y }) => y !== null));
  return lineOf(name, look, points, false);
}

const byteNames = { last_quarter: "the last quarter of the text", loss: "all of the text" };

function lengthContent(arm, entries, view) {
  const label = `length of the sequences, in multiples of ${unitTokens(arm)} tokens`;
  return {
    x: axisOf(label, entries),
    y: axis(`loss of ${byteNames[view.bytes]}, nats`), marks: [], entries,
  };
}

function lengthsContent(experiment, view) {
  return lengthContent(experiment.arms[0], shownArms(experiment, view).map((arm) =>
    lengthLine(arm, arm.name, lookOfArm(arm), "", view)).filter(hasPoints), view);
}

function hasPoints({ datasets }) {
  return datasets[0].data.length > 0;
}

// The unit of lengths: the trained length, unless the experiment has another one.
function unitTokens(arm) {
  return arm.training?.evaluate_unit || arm.model?.tokens || 1;
}

function positionLine(arm, name, look, multiple, rule) {
  const width = unitTokens(arm) / 8;
  const points = arm.cells.map((cell) => (lengthOf(cell, multiple, rule)?.by_position ?? [])
    .map((y, index) => ({ x: (index + 0.5) * width, y })));
  return lineOf(name, look, points, false);
}

function positionAxes(arm, multiple) {
  return {
    x: { ...axis("position of the byte in its sequence"), from: 0, to: unitTokens(arm) * multiple },
    y: axis("loss, nats"),
    marks: [{ direction: "vertical", at: arm.model?.tokens, label: "trained length" }],
  };
}

function positionsContent(experiment, view) {
  return {
    ...positionAxes(experiment.arms[0], view.multiple),
    entries: shownArms(experiment, view).map((arm) =>
      positionLine(arm, arm.name, lookOfArm(arm), view.multiple, "")).filter(hasPoints),
  };
}

function rulesOf(arm) {
  return [...new Set(arm.cells[0].lengths.map(({ rule }) => rule))];
}

function hasRules(arm) {
  return rulesOf(arm).length > 1;
}

// One arm, by each rule.
function ruleEntries(arm, make) {
  return rulesOf(arm).map((rule, index) =>
    make(arm, rule || "as trained", lineLook(index), rule)).filter(hasPoints);
}

function ruleLengthsContent(arm, view) {
  return lengthContent(arm, ruleEntries(arm, (...line) => lengthLine(...line, view)), view);
}

function rulePositionsContent(arm, view) {
  return {
    ...positionAxes(arm, view.multiple),
    entries: ruleEntries(arm, (one, name, look, rule) =>
      positionLine(one, name, look, view.multiple, rule)),
  };
}
