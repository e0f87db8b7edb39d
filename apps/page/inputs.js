// SPDX-License-Identifier: Apache-2.0
// Groups of controls. Each control is an ordinary input with a label, for keyboards and screen
// readers.
"use strict";

function controls(legend, ...children) {
  return element("fieldset", { class: "controls" },
    element("legend", {}, legend), ...children);
}

// A group whose legend is only for screen readers: its labels are enough on sight.
function labelledControls(legend, ...children) {
  const made = controls(legend, ...children);
  made.firstElementChild.className = "visually-hidden";
  return made;
}

// Calls act() when the input changes, and once now.
function whenChanged(input, act) {
  input.addEventListener("input", act);
  act();
}

// Radio buttons for one of several values. options: [value, label] each.
function choices(name, options, chosen, act) {
  return options.map(([value, label], index) => {
    const id = `${name}-${isObject(value) ? index : value}`;
    const button = element("input", { type: "radio", name, id, value });
    button.checked = value === chosen;
    button.addEventListener("input", () => act(value));
    return element("label", { for: button.id }, button, label);
  });
}
