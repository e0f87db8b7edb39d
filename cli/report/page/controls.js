// SPDX-License-Identifier: Apache-2.0
// The controls of the page: shown encodings, context, position and distances.
"use strict";

function chosenSubjects(redraw) {
  const boxes = report.subjects.map((subject) => {
    const box = element("input", { type: "checkbox", id: `shown-${subject.index}` });
    box.checked = true;
    box.addEventListener("input", () => {
      if (box.checked) state.shown.add(subject.index);
      else state.shown.delete(subject.index);
      redraw();
    });
    const swatch = element("span", { class: "swatch", "aria-hidden": "true" });
    swatch.dataset.subject = subject.index;
    return element("label", { for: box.id }, box, swatch, subject.name);
  });
  const made = controls("Shown", ...boxes);
  made.classList.add("chosen");
  new ResizeObserver(() => {
    const covers = getComputedStyle(made).position === "sticky";
    document.documentElement.style.setProperty("--bar", `${covers ? made.offsetHeight : 0}px`);
  }).observe(made);
  return made;
}

function slider(id, label, last, value) {
  const input = element("input", { type: "range", id, min: 0, max: last, step: 1 });
  input.value = value;
  const output = element("output", { for: id });
  const made = element("label", { class: "stacked", for: id },
    element("span", {}, `${label}: `, output), input);
  return { input, output, made };
}

// A slider over numbers of tokens, which sets state[id].
function tokenSlider(id, label, stops, first, redraw) {
  const { input, output, made } = slider(id, label, stops.length - 1, first);
  whenChanged(input, () => {
    state[id] = stops[Number(input.value)];
    output.textContent = tokens(state[id]);
    input.setAttribute("aria-valuetext", output.textContent);
    redraw();
  });
  return made;
}

function contextControls(redraw) {
  const first = Math.max(0, report.stops.indexOf(report.context));
  return labelledControls("Context",
    tokenSlider("context", "Length of the context", report.stops, first, redraw));
}

const lastSliderPosition = 512;
const lastPosition = 2 ** 31;

function positionControls(redraw) {
  const { input, output, made } = slider("position", "Position of the token",
    lastSliderPosition, 8);
  const number = element("input",
    { type: "number", id: "position-number", min: 0, max: lastPosition, step: 1 });
  const note = element("span", { class: "quiet", id: "position-note", role: "status" });
  const set = (value, text) => {
    state.position = value;
    output.textContent = exactly(value);
    note.textContent = text;
    redraw();
  };
  number.addEventListener("input", () => {
    const value = number.valueAsNumber;
    if (Number.isNaN(value)) {
      note.textContent = `Not a number: still shown is ${exactly(state.position)}.`;
      return;
    }
    const nearest = Math.min(Math.max(Math.round(value), 0), lastPosition);
    input.value = nearest;  // the slider limits it to its range
    const beyond = value > lastSliderPosition ? `The slider ends at ${lastSliderPosition}.` : "";
    set(nearest, nearest === value ? beyond
      : `Positions are whole, from 0 to ${exactly(lastPosition)}: shown is ${exactly(nearest)}.`);
  });
  whenChanged(input, () => {
    number.value = input.value;
    set(Number(input.value), "");
  });
  return labelledControls("Position", made,
    element("label", { for: number.id }, "or exactly ", number), note);
}

function exactly(number) {
  return number.toLocaleString("en");
}

function distanceControls(redraw) {
  const powers = distanceStops();
  // Starts above distance 300, where `rotary report` puts the peak of similarity.
  const usual = powers.findIndex((power) => power >= 512);
  const made = tokenSlider("distance", "Distances up to", powers,
    usual < 0 ? powers.length - 1 : usual, redraw);
  const scales = choices("distance", [["linear", "linear"], ["logarithmic", "logarithmic"]],
    state.distanceScale, (scale) => {
      state.distanceScale = scale;
      redraw();
    });
  return labelledControls("Distance", made, ...scales);
}

// 16, 32, ..., up to the last point of the figures that the slider changes.
function distanceStops() {
  let last = 16;
  for (const subject of report.subjects) {
    for (const { section, figure } of subject.ranges.flatMap((range) => range.figures)) {
      if (section !== "distance") continue;
      for (const { x: axis, series } of figure.panels) {
        if (axis.scale !== "linear") continue;  // the slider does not change these
        for (const { x } of series) {
          last = Math.max(last, Math.abs(x[0] ?? 0), Math.abs(x.at(-1) ?? 0));
        }
      }
    }
  }
  const stops = [];
  for (let stop = 16; stop < last; stop *= 2) stops.push(stop);
  return [...stops, last];
}
