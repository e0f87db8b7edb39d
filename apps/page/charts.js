// SPDX-License-Identifier: Apache-2.0
// Converts a panel of a figure (series, marks and axes as in `rotary plot --json`) for Chart.js.
"use strict";

const markDashes = [[5, 4], [2, 3], [9, 3], [9, 3, 2, 3]];

// Lines across the chart at values of one axis. Their names are below the axis, clear of points.
const markPlugin = {
  id: "marks",
  afterDatasetsDraw(chart) {
    const { ctx, chartArea } = chart;
    ctx.save();
    for (const mark of shownMarks(chart)) {
      const at = scaleOfMark(chart, mark).getPixelForValue(mark.at);
      const horizontal = mark.direction === "horizontal";
      ctx.setLineDash(mark.dash);
      ctx.strokeStyle = mark.colour;
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      ctx.moveTo(horizontal ? chartArea.left : at, horizontal ? at : chartArea.top);
      ctx.lineTo(horizontal ? chartArea.right : at, horizontal ? at : chartArea.bottom);
      ctx.stroke();
    }
    ctx.restore();
  },
};

function scaleOfMark(chart, mark) {
  return mark.direction === "horizontal" ? chart.scales.y : chart.scales.x;
}

function shownMarks(chart) {
  return (chart.$marks ?? []).filter((mark) => {
    const scale = scaleOfMark(chart, mark);
    return mark.at >= scale.min && mark.at <= scale.max;
  });
}

function pointsOf(series, view) {
  const points = [];
  series.x.forEach((x, index) => {
    const outside = x < view.from || x > view.to || (view.scale === "logarithmic" && !(x > 0));
    if (!outside) points.push({ x, y: series.y[index] });
  });
  return points;
}

// The datasets of a series: one, or two edges for a band.
function datasetsOf(series, look, view) {
  const data = pointsOf(series, view);
  const line = {
    label: look.name,
    column: look.name,  // heading in the table
    data,
    borderColor: look.colour,
    backgroundColor: look.colour,
    borderWidth: 2,
    borderDash: look.dash,
    pointRadius: 0,
    pointHitRadius: 6,
    stepped: series.style === "steps" ? "before" : false,
  };
  if (look.points) {
    Object.assign(line, { showLine: false, pointRadius: 3, pointStyle: look.points });
  }
  if (series.style !== "band") return [line];
  const lower = pointsOf({ ...series, y: series.lower }, view);
  const edge = { ...line, borderWidth: 0 };
  const ground = `${line.borderColor}40`;
  return [{ ...edge, column: `${line.column}, upper`, backgroundColor: ground, fill: "+1" },
    { ...edge, column: `${line.column}, lower`, label: "", data: lower }];
}

function scaleOptions(axis) {
  const logarithmic = axis.scale === "logarithmic";
  return {
    type: axis.scale,
    min: axis.from,
    max: axis.to,
    title: { display: true, text: axis.label, color: themeColour("text") },
    grid: { color: themeColour("grid"), borderColor: themeColour("line") },
    ticks: {
      color: themeColour("quiet"),
      maxRotation: 0,
      includeBounds: false,
      autoSkipPadding: 12,
      callback(value) {
        // Over two or more powers of ten, only these have ticks.
        const power = Number.isInteger(Math.round(Math.log10(value) * 1e6) / 1e6);
        if (logarithmic && !power && this.max > 100 * this.min) return "";
        return short(value);
      },
    },
  };
}

function chartOptions(xLabel) {
  return {
    animation: false,
    maintainAspectRatio: false,
    parsing: false,
    interaction: { mode: "nearest", axis: "x", intersect: false },
    plugins: {
      legend: { display: false },  // legend.js makes a legend of ordinary inputs
      tooltip: {
        filter: (item) => item.dataset.label !== "",
        callbacks: {
          title: (items) => (items.length ? `${xLabel()}: ${plain(items[0].parsed.x)}` : ""),
          label: (item) => `${item.dataset.label}: ${plain(item.parsed.y)}`,
        },
      },
    },
  };
}

// A card with heading, caption, canvas, legend and a table of the numbers. Opening the table fills
// it.
function makePanel(title, caption, classes = "") {
  const canvas = element("canvas", { role: "img" });
  const table = element("details", {}, element("summary", {}, "The numbers as a table"));
  const legend = element("fieldset", { class: "legend" });
  const marks = element("ul", { class: "marks" });
  const card = element("article", { class: "panel" }, element("h3", {}, title));
  if (caption !== "") card.append(element("p", { class: "caption" }, caption));
  card.append(element("div", { class: `canvas ${classes}` }, canvas), legend, marks, table);
  const panel = {
    card, canvas, table, legend, marks, title, caption,
    chart: null, filled: null, chosen: new Map(), legendKey: "",
  };
  table.addEventListener("toggle", () => fillTable(panel));
  return panel;
}

// content: the axes x and y, marks, and entries {name, look, usual, datasets}.
function drawPanel(panel, content) {
  panel.content = content;
  if (panel.chart === null) {
    panel.chart = new Chart(panel.canvas, {
      type: "line",
      data: { datasets: [] },
      options: chartOptions(() => panel.content.x.label),
      plugins: [markPlugin],
    });
  }
  const { chart } = panel;
  chart.$marks = content.marks.map((mark, index) => ({
    ...mark,
    dash: mark.dash ?? markDashes[index % markDashes.length],
    colour: mark.colour ?? themeColour("quiet"),
  }));
  chart.options.scales = { x: scaleOptions(content.x), y: scaleOptions(content.y) };
  drawLegend(panel, () => drawLines(panel));
  drawLines(panel);
}

function visibleEntries(panel) {
  return panel.content.entries.filter((entry) => panel.chosen.get(entry.name) ?? entry.usual);
}

function drawLines(panel) {
  const entries = visibleEntries(panel);
  panel.chart.data.datasets = entries.flatMap((entry) => entry.datasets);
  panel.chart.update("none");
  const named = shownMarks(panel.chart).filter((mark) => mark.label);
  panel.marks.hidden = named.length === 0;
  panel.marks.replaceChildren(...named.map((mark) =>
    element("li", {}, sample(mark), mark.label)));
  const shown = entries.map((entry) => entry.name).join("; ") || "nothing";
  panel.canvas.setAttribute("aria-label",
    `${panel.title}. ${panel.caption} Shown: ${shown}. The numbers are in the table below.`);
  fillTable(panel);
}

const mostTableRows = 33;

function fillTable(panel) {
  panel.filled?.remove();
  panel.filled = null;
  if (!panel.table.open || !panel.content) return;
  const columns = visibleEntries(panel).flatMap((entry) => entry.datasets);
  const values = columns.map((dataset) => new Map(dataset.data.map((point) => [point.x, point.y])));
  const xs = [...new Set(columns.flatMap((dataset) => dataset.data.map((point) => point.x)))];
  xs.sort((one, other) => one - other);
  const rows = sampled(xs.length, mostTableRows).map((index) =>
    element("tr", {}, element("th", { scope: "row" }, plain(xs[index])),
      ...values.map((column) => element("td", { class: "number" },
        column.has(xs[index]) ? plain(column.get(xs[index])) : ""))));
  const head = element("tr", {}, element("th", { scope: "col" }, panel.content.x.label),
    ...columns.map(({ column }) => element("th", { scope: "col" }, column)));
  const part = rows.length < xs.length ? `, ${rows.length} of ${xs.length} points` : "";
  panel.filled = scrollingTable(`${panel.title}: ${panel.content.y.label}${part}`, "", head, rows);
  panel.table.append(panel.filled);
}
