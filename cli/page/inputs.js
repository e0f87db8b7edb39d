// SPDX-License-Identifier: Apache-2.0
// Groups of controls. Each control is an ordinary input with a label, so the keyboard and a screen
// reader know it.
"use strict";

function controls(legend, ...children) {
  return element("fieldset", { class: "controls" },
    element("legend", {}, legend), ...children);
}

// Where the labels of the inputs say it all to whoever sees them.
function labelledControls(legend, ...children) {
  const made = controls(legend, ...children);
  made.firstElementChild.className = "visually-hidden";
  return made;
}

// Calls back when the input changes, and at once.
function whenChanged(input, act) {
  input.addEventListener("input", act);
  act();
}

// One of several values, as radio buttons; options: [value, label] each.
function choice(name, legend, options, chosen, act) {
  const buttons = options.map(([value, label], index) => {
    const button = element("input", { type: "radio", name, id: `${name}-${index}`, value });
    button.checked = value === chosen;
    button.addEventListener("input", () => act(value));
    return element("label", { for: button.id }, button, label);
  });
  return controls(legend, ...buttons);
}
