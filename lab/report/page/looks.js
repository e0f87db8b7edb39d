// SPDX-License-Identifier: Apache-2.0
// How the line of an arm looks, the same on the whole page: six colours, of which each stands out
// from its ground by 3 to 1 and colour-blind readers can tell those of one dash apart, then the
// dashes. Arms of a family share a colour.
"use strict";

const lineColours = {
  light: ["#0072B2", "#D55E00", "#007A59", "#000000", "#AA3377", "#7A6A00"],
  dark: ["#56B4E9", "#E69F00", "#00B583", "#FFFFFF", "#E08BBD", "#F0E442"],
};
const lineDashes = [[], [8, 4], [2, 3], [10, 3, 2, 3]];

function lineLook(index, ordinal = 0) {
  const colours = darkGround.matches ? lineColours.dark : lineColours.light;
  const turn = Math.floor(index / colours.length) + ordinal;
  return { colour: colours[index % colours.length], dash: lineDashes[turn % lineDashes.length] };
}

// Families and arms in the order of their first appearance.
const lookIndex = new Map();
const ordinalOf = new Map();

function registerLooks(experiments) {
  for (const { arms } of experiments) {
    const members = new Map();
    for (const { name, family } of arms) {
      const key = family || name;
      if (!lookIndex.has(key)) lookIndex.set(key, lookIndex.size);
      const ordinal = members.get(key) ?? 0;
      members.set(key, ordinal + 1);
      if (family) ordinalOf.set(name, ordinal);
    }
  }
}

function lookOfArm({ name, family }) {
  return lineLook(lookIndex.get(family || name), ordinalOf.get(name) ?? 0);
}
