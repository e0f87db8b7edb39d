// SPDX-License-Identifier: Apache-2.0
// Tries another base or factor in the browser, with the library's formulas for some rules.
"use strict";

function unscaled({ base, rotary_dim: d }) {
  return Array.from({ length: d / 2 }, (_, pair) => base ** ((-2 * pair) / d));
}

function within(share) {
  return Math.min(Math.max(share, 0), 1);
}

const ruleFormulas = {
  default: unscaled,
  linear: (spec) => unscaled(spec).map((each) => each / spec.parameters.factor),
  ntk: ({ base, rotary_dim: d, parameters }) =>
    unscaled({ base: base * parameters.alpha ** (d / (d - 2)), rotary_dim: d }),
  yarn(spec) {
    const { base, rotary_dim: d, parameters: rule } = spec;
    const [fast, slow] = [rule.beta_fast, rule.beta_slow].map((turns) => (d / 2)
      * (Math.log(rule.original_max_position_embeddings / (2 * Math.PI * turns)) / Math.log(base)));
    const isWhole = rule.ramp !== "fractional";
    const low = Math.max(isWhole ? Math.floor(fast) : fast, 0);
    const high = Math.min(isWhole ? Math.ceil(slow) : slow, d - 1);
    return unscaled(spec).map((each, pair) => {
      const slowed = within((pair - low) / (high - low || 0.001));
      return (each / rule.factor) * slowed + each * (1 - slowed);
    });
  },
  llama3(spec) {
    const { factor, low_freq_factor: low, high_freq_factor: high,
      original_max_position_embeddings: original } = spec.parameters;
    return unscaled(spec).map((each) => {
      const kept = within(((original * each) / (2 * Math.PI) - low) / (high - low));
      return ((1 - kept) * each) / factor + kept * each;
    });
  },
};

function frequenciesOf(spec) {
  return (ruleFormulas[spec.rope_type] ?? unscaled)(spec);
}

let tried = null;  // a subject's formula with the sliders' values
let drawTried = () => {};

// A slider that changes a member of `values` in equal ratios.
function ratioSlider(id, label, values, member, least, most) {
  const size = Math.log(most / least) / 240;
  const { input, output, made } = slider(id, label, 240,
    Math.round(Math.log(values[member] / least) / size));
  output.textContent = plain(values[member]);
  input.addEventListener("input", () => {
    values[member] = Number((least * Math.exp(size * input.value)).toPrecision(3));
    output.textContent = plain(values[member]);
    input.setAttribute("aria-valuetext", output.textContent);
    drawTried();
  });
  return made;
}

// Makes the sliders, which begin with the config's values.
function triedControls(formula) {
  tried = structuredClone(formula);
  const { base, parameters, rope_type: rule } = tried;
  const ofBase = ratioSlider("try-base", "Base (rope_theta)", tried, "base",
    Math.min(base, 100), Math.max(base, 1e8));
  if (!(rule in ruleFormulas)) {
    return [ofBase, `These lines are those without the rule ${rule}, which is not computed here.`];
  }
  const name = ["factor", "alpha"].find((each) => each in parameters);
  if (!name) return [ofBase, "The config has no scaling rule, and so no factor."];
  return [ofBase, ratioSlider("try-factor", `Rule ${rule}: ${name}`, parameters, name,
    Math.min(parameters[name], 1), Math.max(4 * parameters[name], 64))];
}

const triedDistances = Array.from({ length: 1001 }, (_, distance) => distance);
const triedPictures = [
  { title: "Tokens for one turn of each pair, as tried", x: "pair of features",
    y: { label: "wavelength (tokens)", scale: "logarithmic" },
    line: (all) => ["", [...all.keys()], all.map((each) => (2 * Math.PI) / each)] },
  { title: "One pair of a query and an equal key, as tried", x: "distance (tokens)",
    y: { label: "cosine of the pair's angle", scale: "linear", from: -1.05, to: 1.05 },
    line(all) {
      const pair = Math.floor(0.375 * all.length);
      return [`pair ${pair} `, triedDistances, triedDistances.map((distance) =>
        Math.cos(distance * all[pair]))];
    } },
  { title: "Score of a query and an equal key, as tried", x: "distance (tokens)",
    y: { label: "mean cosine of all pairs", scale: "linear", to: 1.05 },
    line: (all) => ["", triedDistances, triedDistances.map((distance) =>
      all.reduce((sum, each) => sum + Math.cos(distance * each), 0) / all.length)] },
].map((picture) => ({ ...picture, panel: makePanel(picture.title, "") }));

function drawPicture({ panel, x, y, line }, formula) {
  const entries = [tried, formula].map((spec, which) => {
    const [label, xs, ys] = line(frequenciesOf(spec));
    const name = `${label}${which ? "in the config" : "as tried"}`;
    const look = { name, colour: paletteColour(which), dash: which ? [8, 4] : [] };
    const everywhere = { from: -Infinity, to: Infinity };
    return { name, look, usual: true, datasets: datasetsOf({ x: xs, y: ys }, look, everywhere) };
  });
  drawPanel(panel, { x: { label: x, scale: "linear" }, y, marks: [], entries });
}

function writeTry(section) {
  const subjects = report.subjects.filter((subject) => subject.formula);
  section.hidden = subjects.length === 0;
  const place = element("div");
  const status = element("p", { "aria-live": "polite" });
  const reset = element("button", { type: "button", id: "try-reset" }, "Back to the config");
  const choose = ({ name, formula, trained_context_tokens: trained }) => {
    const turning = (spec) => turningPairs(frequenciesOf(spec), trained ?? report.context);
    drawTried = () => {
      status.textContent = `${turning(tried)} of ${formula.rotary_dim / 2} pairs complete a turn `
        + `within ${tokens(trained ?? report.context)}; in the config, ${turning(formula)}.`;
      for (const picture of triedPictures) drawPicture(picture, formula);
    };
    const begin = () => {
      place.replaceChildren(controls(name, ...triedControls(formula), reset));
      drawTried();
    };
    reset.onclick = () => {
      begin();
      reset.focus({ preventScroll: true });
    };
    begin();
  };
  if (subjects.length > 1) {
    section.append(controls("Encoding", ...choices("try-subject",
      subjects.map((each) => [each, each.name]), subjects[0], choose)));
  }
  section.append(place, status,
    element("div", { class: "panels" }, ...triedPictures.map(({ panel }) => panel.card)));
  if (subjects.length > 0) choose(subjects[0]);
}
