// SPDX-License-Identifier: Apache-2.0
// Names beside the ends of lines, pushed apart where they meet. On a narrow chart there is no room:
// the list of what is shown says which line is which.
"use strict";

const labelHeight = 14;
const leastWidthForLabels = 520;
const nearTheLast = 60;  // a line that ends before the others has its name within the chart

function labelled(chart) {
  if (chart.width < leastWidthForLabels) return [];
  return chart.data.datasets.filter((dataset) => dataset.endLabel && dataset.data.length > 0);
}

function labelFont() {
  return `12px ${Chart.defaults.font.family}`;
}

const endLabelPlugin = {
  id: "endLabels",
  beforeLayout(chart) {
    chart.ctx.save();
    chart.ctx.font = labelFont();
    const widths = labelled(chart).map(({ endLabel }) => chart.ctx.measureText(endLabel).width);
    chart.ctx.restore();
    chart.options.layout.padding = { right: widths.length > 0 ? Math.max(...widths) + 14 : 4 };
  },
  afterDatasetsDraw(chart) {
    const { ctx, chartArea, scales } = chart;
    const all = labelled(chart).map((dataset) => {
      const { x, y } = dataset.data.at(-1);
      return { dataset, at: scales.y.getPixelForValue(y), x: scales.x.getPixelForValue(x) };
    }).filter(({ at }) => at >= chartArea.top - 1 && at <= chartArea.bottom + 1);
    all.sort((one, other) => one.at - other.at);
    const last = Math.max(...all.map(({ x }) => x));
    const ends = all.filter(({ x }) => x > last - nearTheLast);
    spread(ends, chartArea);
    ctx.save();
    ctx.font = labelFont();
    ctx.textBaseline = "middle";
    for (const { dataset, at, x } of all.filter((end) => !ends.includes(end))) {
      ctx.fillStyle = dataset.borderColor;
      ctx.fillText(dataset.endLabel, x + 7, at - 8);
    }
    for (const { dataset, at, label, x } of ends) {
      ctx.strokeStyle = ctx.fillStyle = dataset.borderColor;
      ctx.lineWidth = 1;
      ctx.beginPath();
      ctx.moveTo(Math.min(x, chartArea.right), at);
      ctx.lineTo(chartArea.right + 6, label);
      ctx.stroke();
      ctx.fillText(dataset.endLabel, chartArea.right + 9, label);
    }
    ctx.restore();
  },
};

// Labels that meet move away from each other by the same amount, within the chart.
function spread(ends, area) {
  for (const end of ends) end.label = end.at;
  for (let pass = 0; pass < 50; ++pass) {
    for (let index = 1; index < ends.length; ++index) {
      const [above, below] = [ends[index - 1], ends[index]];
      const missing = labelHeight - (below.label - above.label);
      if (missing <= 0) continue;
      above.label = Math.max(area.top, above.label - missing / 2);
      below.label = Math.min(area.bottom, below.label + missing / 2);
    }
  }
  // Corrects the labels that the bottom edge pushed together.
  for (let index = ends.length - 1; index > 0; --index) {
    ends[index - 1].label = Math.min(ends[index - 1].label, ends[index].label - labelHeight);
  }
}
