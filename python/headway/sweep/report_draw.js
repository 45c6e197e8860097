"use strict";
// Pens draw on a canvas, or write SVG: lines, dots, boxes and texts, in CSS pixels.
function CanvasPen(canvas, width, height) {
  var scale = window.devicePixelRatio || 1, g = canvas.getContext("2d");
  canvas.width = Math.round(width * scale); canvas.height = Math.round(height * scale);
  canvas.style.height = height + "px";
  g.setTransform(scale, 0, 0, scale, 0, 0);
  g.clearRect(0, 0, width, height);
  this.line = function (points, colour, thick) {
    g.beginPath();
    for (var i = 0; i < points.length; i += 2) g.lineTo(points[i], points[i + 1]);
    g.strokeStyle = colour; g.lineWidth = thick; g.stroke();
  };
  this.dot = function (x, y, radius, colour) { g.beginPath(); g.arc(x, y, radius, 0, 7); g.fillStyle = colour; g.fill(); };
  this.box = function (x, y, w, h, colour) { g.fillStyle = colour; g.fillRect(x, y, w, h); };
  this.text = function (x, y, text, align, colour, turned) {
    g.save(); g.translate(x, y); if (turned) g.rotate(-Math.PI / 2);
    g.font = "12px system-ui, sans-serif"; g.textAlign = align; g.textBaseline = "middle"; g.fillStyle = colour; g.fillText(text, 0, 0); g.restore();
  };
}
function SvgPen(width, height) {
  var parts = [];
  function n(value) { return String(Math.round(value * 100) / 100); }
  function quoted(text) { return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;"); }
  this.line = function (points, colour, thick) {
    var pairs = [];
    for (var i = 0; i < points.length; i += 2) pairs.push(n(points[i]) + "," + n(points[i + 1]));
    parts.push('<polyline fill="none" stroke="' + colour + '" stroke-width="' + thick + '" points="' + pairs.join(" ") + '"/>');
  };
  this.dot = function (x, y, radius, colour) { parts.push('<circle cx="' + n(x) + '" cy="' + n(y) + '" r="' + radius + '" fill="' + colour + '"/>'); };
  this.box = function (x, y, w, h, colour) { parts.push('<rect x="' + n(x) + '" y="' + n(y) + '" width="' + n(w) + '" height="' + n(h) + '" fill="' + colour + '"/>'); };
  this.text = function (x, y, text, align, colour, turned) {
    var anchor = { left: "start", center: "middle", right: "end" }[align];
    parts.push('<text text-anchor="' + anchor + '" dominant-baseline="central" fill="' + colour + '" transform="translate(' + n(x) + " " + n(y) + ")" + (turned ? " rotate(-90)" : "") + '">' + quoted(text) + "</text>");
  };
  this.whole = function () {
    return '<svg xmlns="http://www.w3.org/2000/svg" width="' + width + '" height="' + height + '" viewBox="0 0 ' + width + " " + height + '" font-family="sans-serif" font-size="12">' + parts.join("") + "</svg>";
  };
}

// Values as people read them: the unit is the end of the column's name.
function unitOf(name) {
  var found = /(?:_)(bps|us|bytes|pkts)$/.exec(name);
  return found ? found[1] : "";
}
var SCALES = { bps: [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [0, "bit/s"]],
               us: [[1e6, "s"], [1e3, "ms"], [0, "µs"]],
               bytes: [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [0, "B"]], pkts: [[0, "packets"]], "": [[0, ""]] };
function scaleFor(name, largest) {
  var found = SCALES[unitOf(name)].find(function (one) { return Math.abs(largest) >= one[0]; });
  return { factor: found[0] || 1, unit: found[1] };
}
function digits(value) { return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4))); }
function shown(name, value) {
  if (Number.isNaN(value)) return "–";
  var scale = scaleFor(name, value);
  return digits(value / scale.factor) + (scale.unit && scale.unit !== "packets" ? " " + scale.unit : "");
}
function label(name, scale) {
  var plain = unitOf(name) ? name.slice(0, name.lastIndexOf("_")) : name;
  return plain.replace(/_/g, " ") + (scale.unit ? " (" + scale.unit + ")" : "");
}
function quantile(sorted, share) {
  var at = share * (sorted.length - 1), low = Math.floor(at), part = at - low;
  return part ? sorted[low] * (1 - part) + sorted[low + 1] * part : sorted[low];
}
function interval(sorted, kind) {
  if (kind === "none" || sorted.length < 2) return null;
  if (kind === "quartiles") return [quantile(sorted, 0.25), quantile(sorted, 0.75)];
  if (kind === "range") return [quantile(sorted, 0.05), quantile(sorted, 0.95)];
  // order statistics between which the median lies with 95 %, by the normal approximation
  var n = sorted.length, half = 0.98 * Math.sqrt(n);
  return [sorted[Math.max(Math.floor(n / 2 - half), 0)], sorted[Math.min(Math.ceil(n / 2 + half), n - 1)]];
}
function ticks(low, high, wanted) {
  var step = Math.pow(10, Math.floor(Math.log10((high - low) / wanted || 1)));
  [2, 5, 10].forEach(function (by) { if ((high - low) / step > wanted) step = step * by / (by === 2 ? 1 : by === 5 ? 2 : 5); });
  var found = [];
  for (var at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at++) found.push(at * step);
  return found;
}
var SHADES = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
function shadeOf(part) {
  var at = Math.min(Math.max(part, 0), 1) * 4, low = Math.min(Math.floor(at), 3), rest = at - low;
  return "#" + [0, 1, 2].map(function (i) { return Math.round(SHADES[low][i] * (1 - rest) + SHADES[low + 1][i] * rest).toString(16).padStart(2, "0"); }).join("");
}

// The panels of a figure, one per facet. `view` has groups of values, and how to draw them.
function Axes(pen, left, top, width, height, x, y, ink) {
  function place(axis, value) { return axis.log ? Math.log10(value) : value; }
  function part(axis, value) { var low = place(axis, axis.low), high = place(axis, axis.high); return high > low ? (place(axis, value) - low) / (high - low) : 0.5; }
  var self = { x: function (value) { return left + part(x, value) * width; }, y: function (value) { return top + height - part(y, value) * height; } };
  y.ticks.forEach(function (value) {
    pen.line([left, self.y(value), left + width, self.y(value)], ink.grid, 1);
    pen.text(left - 6, self.y(value), y.show(value), "right", ink.text);
  });
  var last = -1e9;
  x.ticks.forEach(function (value) {
    var at = self.x(value), text = x.show(value), half = text.length * 3.4;
    pen.line([at, top + height, at, top + height + 4], ink.edge, 1);
    if (at - half < last + 6) return;
    pen.text(at, top + height + 14, text, "center", ink.text);
    last = at + half;
  });
  pen.line([left, top, left, top + height, left + width, top + height], ink.edge, 1);
  return self;
}
function numeric(values, name, wanted, fromZero) {
  var low = Infinity, high = -Infinity;
  values.forEach(function (value) { if (value < low) low = value; if (value > high) high = value; });
  if (!(low <= high)) { low = 0; high = 1; }
  if (fromZero && low > 0) low = 0;
  if (low === high) high = low + (Math.abs(low) || 1);
  var scale = scaleFor(name, Math.max(Math.abs(low), Math.abs(high)));
  return { low: low, high: high, log: false, scale: scale, show: function (value) { return digits(Number((value / scale.factor).toPrecision(6))); },
           ticks: ticks(low / scale.factor, high / scale.factor, wanted).map(function (value) { return value * scale.factor; }) };
}
function logarithmic(axis, name) { axis.log = true; axis.scale = { unit: "" }; axis.show = function (value) { return shown(name, value); }; }
// The axis of a metric: from 0, or logarithmic if it extends over several magnitudes.
function magnitudes(values, name) {
  var axis = numeric(values, name, 6, true), low = Infinity;
  values.forEach(function (value) { if (value < low) low = value; });
  if (!(low > 0) || axis.high / low < 50) return axis;
  axis.low = low; axis.ticks = [];
  for (var at = Math.floor(Math.log10(low)); at <= Math.log10(axis.high); at++) {
    (axis.high / low < 1000 ? [1, 3] : [1]).forEach(function (by) { var value = by * Math.pow(10, at); if (value >= low && value <= axis.high) axis.ticks.push(value); });
  }
  logarithmic(axis, name);
  return axis;
}
function levelled(levels, name, isText) {
  if (isText) {
    return { low: -0.5, high: levels.length - 0.5, log: false, scale: { unit: "" }, ticks: levels.map(function (_, at) { return at; }),
             show: function (at) { return String(levels[at]); }, at: function (code) { return code; } };
  }
  var axis = numeric(levels, name, 6, false), low = levels[0], high = levels[levels.length - 1];
  axis.log = low > 0 && levels.length > 2 && high / low >= 20;
  if (axis.log) logarithmic(axis, name);
  axis.ticks = levels.slice();
  if (levels.length === 1) { axis.low = low - Math.abs(low || 1) / 2; axis.high = low + Math.abs(low || 1) / 2; axis.log = false; }
  axis.at = function (code) { return levels[code]; };
  return axis;
}
