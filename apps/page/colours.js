// SPDX-License-Identifier: Apache-2.0
// The palette of Okabe and Ito (Color Universal Design, 2008) for colour-blind readers. Each
// background first uses the colours with a contrast of at least 3 to 1. Dashes and point shapes
// also distinguish series.
"use strict";

const palettes = {
  light: ["#0072B2", "#D55E00", "#009E73", "#000000", "#CC79A7", "#E69F00", "#56B4E9"],
  dark: ["#56B4E9", "#E69F00", "#009E73", "#FFFFFF", "#CC79A7", "#F0E442", "#D55E00"],
};
const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3], [16, 4], [4, 7], [10, 3, 2, 3, 2, 3]];
const pointShapes = ["circle", "triangle", "rect", "rectRot"];

const darkGround = window.matchMedia("(prefers-color-scheme: dark)");

function paletteColour(index) {
  const palette = darkGround.matches ? palettes.dark : palettes.light;
  return palette[index % palette.length];
}

function themeColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
