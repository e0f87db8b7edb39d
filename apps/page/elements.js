// SPDX-License-Identifier: Apache-2.0
"use strict";

// An element with attributes and children. Text from a config is never read as markup.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Escapes characters that act on the text around them, such as those that reverse text or break
// lines. The escapes are those of apps/printable.hpp.
function printable(text) {
  const obeyed = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}]/gu;
  return text.replace(obeyed, (character) => {
    const code = character.codePointAt(0).toString(16);
    return code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`;
  });
}

// The name of a key, which may break after a dot or an underscore.
function breakable(name) {
  return name.split(/(?<=[._])/).flatMap((part) => [part, element("wbr")]);
}

function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

// The page's data, with all text made printable.
function dataOfPage(id) {
  return JSON.parse(document.getElementById(id).textContent, (_, value) => {
    if (typeof value === "string") return printable(value);
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [printable(key), each]));
  });
}

// At most six digits, with an exponent only if plain digits would be hard to read.
function plain(number) {
  if (number === null || !Number.isFinite(number)) return "\u2013";
  const size = Math.abs(number);
  if (size !== 0 && (size >= 1e9 || size < 1e-4)) return number.toExponential(3);
  const digits = size >= 1e5 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 6 };
  return number.toLocaleString("en", { ...digits, useGrouping: size >= 1e4 });
}

// For the ticks of an axis. k means 1000, not 1024, because ticks are not powers of two.
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

// At most `most` of the indices 0 ... count - 1, with the first and the last.
function sampled(count, most) {
  if (count <= most) return Array.from({ length: count }, (_, index) => index);
  return Array.from({ length: most }, (_, step) => Math.round((step * (count - 1)) / (most - 1)));
}

// A scrolling table that the keyboard can reach.
function scrollingTable(name, classes, head, body) {
  const table = element("table", {}, element("caption", {}, name),
    element("thead", {}, head), element("tbody", {}, ...body));
  return element("div",
    { class: `scroll ${classes}`, role: "region", tabindex: "0", "aria-label": name }, table);
}
