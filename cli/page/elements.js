// SPDX-License-Identifier: Apache-2.0
"use strict";

// An element with attributes and children. What comes from a config only ever becomes text: a name
// that looks like markup is shown as it is.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Text from a config as people see it: characters that a browser would obey, by turning text round
// or breaking lines, are escapes, as cli/printable.hpp writes them.
function printable(text) {
  const obeyed = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}]/gu;
  return text.replace(obeyed, (character) => {
    const code = character.codePointAt(0).toString(16);
    return code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`;
  });
}

// The name of a key, which breaks behind a dot or an underscore and within no word.
function breakable(name) {
  return name.split(/(?<=[._])/).flatMap((part) => [part, element("wbr")]);
}

function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

// The page's data, with all text in them printable.
function dataOfPage(id) {
  return JSON.parse(document.getElementById(id).textContent, (_, value) => {
    if (typeof value === "string") return printable(value);
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [printable(key), each]));
  });
}

// Six digits at most, with an exponent only where plain digits would be hard to read.
function plain(number) {
  if (number === null || !Number.isFinite(number)) return "\u2013";
  const size = Math.abs(number);
  if (size !== 0 && (size >= 1e9 || size < 1e-4)) return number.toExponential(3);
  const digits = size >= 1e5 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 6 };
  return number.toLocaleString("en", { ...digits, useGrouping: size >= 1e4 });
}

// For the ticks of an axis: 8k is 8192 / 1024 only where every tick is a power of two; so not here.
function short(number) {
  const size = Math.abs(number);
  if (size !== 0 && (size >= 1e9 || size < 1e-3)) return number.toExponential(0).replace("e+", "e");
  if (size >= 1e6) return `${plain(number / 1e6)}M`;
  if (size >= 1e4) return `${plain(number / 1e3)}k`;
  return plain(number);
}

function tokens(count) {
  return `${plain(count)} ${count === 1 ? "token" : "tokens"}`;
}

// At most `most` of the indices 0 ... count - 1, the first and the last among them.
function sampled(count, most) {
  if (count <= most) return Array.from({ length: count }, (_, index) => index);
  return Array.from({ length: most }, (_, step) => Math.round((step * (count - 1)) / (most - 1)));
}

// A table that scrolls by itself, which keyboards must be able to reach.
function scrollingTable(name, classes, head, body) {
  const table = element("table", {}, element("caption", {}, name),
    element("thead", {}, head), element("tbody", {}, ...body));
  return element("div",
    { class: `scroll ${classes}`, role: "region", tabindex: "0", "aria-label": name }, table);
}
