(function () {
  var about = JSON.parse(document.getElementById("about").textContent);
  var rows = about.rows, columns = about.columns, byName = {};
  var chosen = new Uint32Array(0), marks = [], drawn = null, selected = -1, order = null;
  function el(id) { return document.getElementById(id); }

  function decode() {
    var text = el("data").textContent.trim(), bytes;
    if (Uint8Array.fromBase64) bytes = Uint8Array.fromBase64(text);
    else { var raw = atob(text); bytes = new Uint8Array(raw.length); for (var i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i); }
    el("data").remove();
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
  }
  function unpack(buffer) {
    var types = { levels: Uint16Array, whole: Uint32Array, number: Float32Array }, at = 0;
    columns.forEach(function (column) {
      column.data = new types[column.kind](buffer, at, column.bytes / types[column.kind].BYTES_PER_ELEMENT);
      at += column.bytes + (4 - column.bytes % 4) % 4;
      byName[column.name] = column;
    });
    about.keys = new Uint8Array(buffer, at);
  }
  function valueOf(column, row) {
    if (column.kind !== "levels") return column.data[row];
    var level = column.levels[column.data[row]];
    return level === undefined ? (column.is_text ? "" : NaN) : level;
  }
  function textOf(column, row) {
    if (column.kind === "levels" && column.is_text) return valueOf(column, row) || "–";
    return column.kind === "whole" ? String(column.data[row]) : shown(column.name, valueOf(column, row));
  }

  // The filter: words that a text has, and comparisons such as rtt_us<50000 or class=cubic.
  var comparisons = {
    "<": function (a, b) { return a < b; }, ">": function (a, b) { return a > b; },
    "<=": function (a, b) { return a <= b; }, ">=": function (a, b) { return a >= b; },
    "=": function (a, b) { return a === b; }, "!=": function (a, b) { return a !== b; }
  };
  function tests(text) {
    return text.split(/\s+/).filter(Boolean).map(function (word) {
      var parts = /^([\w.\[\]*]+)(<=|>=|!=|=|<|>)(.+)$/.exec(word), column = parts && byName[parts[1]];
      if (!column) return wordTest(word.toLowerCase());
      var number = Number(parts[3]), op = parts[2], compare = comparisons[op];
      function holds(value) {
        if (typeof value !== "string") return compare(value, number);
        return op === "=" ? value === parts[3] : op === "!=" && value !== parts[3];
      }
      if (column.kind === "levels") {
        var fits = column.levels.map(holds);
        return function (row) { return fits[column.data[row]] === true; };
      }
      return function (row) { return compare(column.data[row], number); };
    });
  }
  function wordTest(word) {
    var having = columns.filter(function (column) { return column.kind === "levels"; }).map(function (column) {
      return { data: column.data, fits: column.levels.map(function (level, at) { return String(column.written ? column.written[at] : level).toLowerCase().includes(word); }) };
    }).filter(function (one) { return one.fits.includes(true); });
    return function (row) { for (var i = 0; i < having.length; i++) if (having[i].fits[having[i].data[row]]) return true; return false; };
  }
  function filter() {
    var all = tests(el("filter").value), found = new Uint32Array(rows), count = 0;
    for (var i = 0; i < rows; i++) {
      var row = order ? order[i] : i, fits = true;
      for (var t = 0; t < all.length && fits; t++) fits = all[t](row);
      if (fits) found[count++] = row;
    }
    chosen = found.subarray(0, count);
    el("count").textContent = count.toLocaleString("en") + " of " + rows.toLocaleString("en") + " rows";
    draw(); el("table").scrollTop = 0; list();
  }

  // Groups of rows by the levels of some columns, each with the sorted values of y.
  function groups(names) {
    var used = names.map(function (name) { return byName[name]; }), y = byName[el("y").value], found = new Map(), ids = new Int32Array(chosen.length), list = [];
    var counts = used.map(function (one) { return one ? one.levels.length + 1 : 1; }), span = counts[0] * counts[1] * counts[2];
    var dense = span < 4e6 ? new Int32Array(span) : null, values = new Float64Array(chosen.length);
    for (var i = 0; i < chosen.length; i++) {
      var row = chosen[i], value = y.kind === "levels" ? y.levels[y.data[row]] : y.data[row], key = 0;
      values[i] = value;
      if (!(value === value) || value === undefined) { ids[i] = -1; continue; }
      for (var c = 0; c < 3; c++) key = key * counts[c] + (used[c] ? used[c].data[row] : 0);
      var id = (dense ? dense[key] : found.get(key) || 0) - 1;
      if (id < 0) {
        id = list.length;
        if (dense) dense[key] = id + 1; else found.set(key, id + 1);
        list.push({ codes: used.map(function (one) { return one ? one.data[row] : 0; }), size: 0, id: id });
      }
      ids[i] = id; list[id].size++;
    }
    list.forEach(function (group) { group.sorted = new Float64Array(group.size); group.size = 0; });
    for (i = 0; i < chosen.length; i++) if (ids[i] >= 0) { var own = list[ids[i]]; own.sorted[own.size++] = values[i]; }
    list.forEach(function (group) { group.sorted.sort(); group.median = quantile(group.sorted, 0.5); });
    list.nearest = function (group, wanted) { // a row of the group whose value is close to the wanted one
      var best = -1, least = Infinity;
      for (var i = 0; i < ids.length; i++) if (ids[i] === group.id && Math.abs(values[i] - wanted) < least) { least = Math.abs(values[i] - wanted); best = i; }
      return chosen[best];
    };
    return list;
  }
  function inks(dark) {
    if (dark === null) return { text: "#1a1a1a", edge: "#8a8a8a", grid: "#dddddd", at: 0 };
    var style = getComputedStyle(document.documentElement), colour = function (name) { return style.getPropertyValue("--" + name).trim(); };
    return { text: colour("ink"), edge: colour("edge"), grid: colour("grid"), at: dark ? 1 : 0 };
  }
  // The groups of the chosen rows and the place of each facet's panel in a figure of this width.
  function arrange(width) {
    var kind = el("chart").value;
    var all = groups(kind === "cdf" ? ["", el("colour").value, el("facet").value] : [el("x").value, el("colour").value, el("facet").value]);
    var facets = Array.from(new Set(all.map(function (g) { return g.codes[2]; }))).sort(function (a, b) { return a - b; }).slice(0, 24);
    if (!facets.length) facets = [0];
    var across = Math.max(1, Math.min(facets.length, Math.floor(width / 330))), high = 300;
    if (facets.length === 1) high = Math.min(440, Math.max(300, width * 0.4));
    return { all: all, facets: facets, across: across, each: width / across, high: high, total: Math.ceil(facets.length / across) * high };
  }
  function paint(pen, places, ink, keep) {
    var kind = el("chart").value, facet = byName[el("facet").value], colour = byName[el("colour").value], x = byName[el("x").value], y = byName[el("y").value];
    var all = places.all, across = places.across, each = places.each, high = places.high;
    if (keep) drawn = all;
    var values = kind === "line" ? all.flatMap(function (g) { var i = interval(g.sorted, el("interval").value); return i ? [g.median].concat(i) : [g.median]; }) : all.map(function (g) { return g.median; });
    places.facets.forEach(function (code, place) {
      var own = all.filter(function (g) { return g.codes[2] === code; }), left = (place % across) * each + 90, top = Math.floor(place / across) * high + 26;
      if (facet) pen.text(left, top - 12, facet.name + " = " + levelText(facet, code), "left", ink.text);
      panel(pen, own, { left: left, top: top, width: each - 122, height: high - 78 }, { kind: kind, x: x, y: y, colour: colour, values: values, all: all }, ink, keep);
    });
  }
  function levelText(column, code) { return column.is_text ? column.levels[code] : column.written ? column.written[code] : shown(column.name, column.levels[code]); }
  function hue(ink, code) { var list = about.colours; return list[code % list.length][ink.at]; }
  function panel(pen, own, at, view, ink, keep) {
    var bottom = at.top + at.height + 32, middle = at.left + at.width / 2;
    if (view.kind === "heat") return heat(pen, own, at, view, ink, keep);
    var xs, ys;
    if (view.kind === "cdf") {
      var lows = view.all.flatMap(function (g) { return [g.sorted[0], g.sorted[g.sorted.length - 1]]; });
      xs = numeric(lows, view.y.name, 5, false); ys = numeric([0, 1], "", 5, true);
    } else { xs = levelled(view.x.levels, view.x.name, view.x.is_text); ys = magnitudes(view.values, view.y.name); }
    var axes = Axes(pen, at.left, at.top, at.width, at.height, xs, ys, ink);
    pen.text(middle, bottom, label(view.kind === "cdf" ? view.y.name : view.x.name, xs.scale), "center", ink.text);
    pen.text(at.left - 80, at.top + at.height / 2, view.kind === "cdf" ? "share of rows" : label(view.y.name, ys.scale), "center", ink.text, true);
    var series = new Map();
    own.forEach(function (g) { if (!series.has(g.codes[1])) series.set(g.codes[1], []); series.get(g.codes[1]).push(g); });
    series.forEach(function (list, code) {
      var colour = hue(ink, view.colour ? code : 0), line = [];
      if (view.kind === "cdf") {
        var sorted = list[0].sorted, step = Math.max(1, Math.floor(sorted.length / 400));
        for (var i = 0; i < sorted.length; i += step) line.push(axes.x(sorted[i]), axes.y((i + 1) / sorted.length));
        line.push(axes.x(sorted[sorted.length - 1]), axes.y(1));
        if (keep) [0.1, 0.25, 0.5, 0.75, 0.9].forEach(function (share) { var v = quantile(sorted, share); keep.push([axes.x(v), axes.y(share), list[0], v]); });
        return pen.line(line, colour, 1.6);
      }
      list.sort(function (a, b) { return a.codes[0] - b.codes[0]; });
      list.forEach(function (g) {
        var px = axes.x(xs.at(g.codes[0])), py = axes.y(g.median), ends = interval(g.sorted, el("interval").value);
        line.push(px, py);
        if (ends) pen.line([px, axes.y(ends[0]), px, axes.y(ends[1])], colour, 1.2);
        pen.dot(px, py, 3, colour);
        if (keep) keep.push([px, py, g, g.median]);
      });
      if (!view.x.is_text) pen.line(line, colour, 1.2);
    });
  }
  function heat(pen, own, at, view, ink, keep) {
    if (!view.colour) return pen.text(at.left, at.top + 20, "Choose the heat map's second axis.", "left", ink.text);
    var xs = view.x.levels, ys = view.colour.levels, w = at.width / xs.length, h = at.height / ys.length;
    var range = magnitudes(view.values, view.y.name), low = Infinity, high = -Infinity;
    view.values.forEach(function (value) { low = Math.min(low, value); high = Math.max(high, value); });
    function partOf(value) { return high <= low ? 0.5 : range.log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low); }
    own.forEach(function (g) {
      var px = at.left + g.codes[0] * w, py = at.top + at.height - (g.codes[1] + 1) * h, part = partOf(g.median);
      pen.box(px, py, w + 0.5, h + 0.5, shadeOf(part));
      if (w > 62 && h > 14) pen.text(px + w / 2, py + h / 2, shown(view.y.name, g.median), "center", part > 0.55 ? "#1a1a1a" : "#ffffff");
      if (keep) keep.push([px + w / 2, py + h / 2, g, g.median]);
    });
    var last = -1e9;
    xs.forEach(function (_, code) {
      var text = levelText(view.x, code), px = at.left + (code + 0.5) * w, half = text.length * 3.4;
      if (px - half > last) { pen.text(px, at.top + at.height + 14, text, "center", ink.text); last = px + half; }
    });
    ys.forEach(function (_, code) { if (h > 11 || code % 2 === 0) pen.text(at.left - 4, at.top + at.height - (code + 0.5) * h, levelText(view.colour, code).slice(0, 9), "right", ink.text); });
    pen.text(at.left + at.width / 2, at.top + at.height + 32, label(view.x.name, { unit: "" }) + "; colour: " + shown(view.y.name, low) + " to " + shown(view.y.name, high), "center", ink.text);
  }
  function svg(width) {
    var places = arrange(width), pen = new SvgPen(width, places.total);
    paint(pen, places, inks(null), null);
    return pen.whole();
  }
  function draw() {
    var canvas = el("figure"), width = canvas.clientWidth, ink = inks(matchMedia("(prefers-color-scheme: dark)").matches);
    if (!el("y").value || !el("x").value) return;
    marks = [];
    var places = arrange(width);
    paint(new CanvasPen(canvas, width, places.total), places, ink, marks);
    var colour = byName[el("colour").value], legend = el("legend");
    legend.textContent = "";
    el("colour-label").firstChild.textContent = el("chart").value === "heat" ? "second axis " : "colour ";
    el("interval-label").hidden = el("chart").value !== "line";
    if (!colour || el("chart").value === "heat") return;
    colour.levels.slice(0, 24).forEach(function (_, code) {
      var item = document.createElement("li"), spot = document.createElement("i");
      spot.style.background = hue(ink, code);
      item.append(spot, levelText(colour, code)); legend.append(item);
    });
  }

  // The table has elements for visible rows only.
  var HIGH = 26;
  function list() {
    var box = el("table"), first = Math.max(0, Math.floor(box.scrollTop / HIGH) - 5), last = Math.min(chosen.length, first + Math.ceil(box.clientHeight / HIGH) + 12), parts = [];
    function space(height) { if (height > 0) parts.push('<tr class="space" aria-hidden="true"><td colspan="' + columns.length + '" style="height:' + height + 'px"></td></tr>'); }
    space(first * HIGH);
    for (var i = first; i < last; i++) {
      var row = chosen[i];
      parts.push('<tr data-row="' + row + '"' + (row === selected ? ' aria-selected="true"' : "") + ">" + columns.map(function (column) {
        return "<td" + (column.is_text ? "" : ' class="n"') + ">" + textOf(column, row).replace(/&/g, "&amp;").replace(/</g, "&lt;") + "</td>";
      }).join("") + "</tr>");
    }
    space((chosen.length - last) * HIGH);
    el("body").innerHTML = parts.join("");
  }
  function sort(column, down) {
    var sign = down ? -1 : 1, data = column.data, high = column.kind === "levels" && column.is_text ? column.levels.map(function (l, at) { return [l, at]; }).sort(function (a, b) { return a[0] < b[0] ? -1 : 1; }).reduce(function (ranks, pair, rank) { ranks[pair[1]] = rank; return ranks; }, []) : null;
    order = Uint32Array.from({ length: rows }, function (_, row) { return row; });
    order.sort(function (a, b) {
      var one = high ? high[data[a]] : data[a], other = high ? high[data[b]] : data[b];
      if (!(one === one) || one === undefined) return other === other && other !== undefined ? 1 : a - b; // unknown values are last
      if (!(other === other) || other === undefined) return -1;
      return sign * (one - other) || a - b;
    });
    filter();
  }
  function quote(word) { return /^[\w@%+=:,.\/-]+$/.test(word) ? word : "'" + word.replace(/'/g, "'\\''") + "'"; }
  function command(row) {
    var words = ["headway", "try"], given = about.command, seed = String(byName.seed.kind === "levels" ? valueOf(byName.seed, row) : byName.seed.data[row]);
    if (given.runs) {
      var key = Array.from(about.keys.subarray(row * given.key_bytes, (row + 1) * given.key_bytes)).map(function (byte) { return byte.toString(16).padStart(2, "0"); }).join("");
      words.push(given.runs + key + "/params.json");
    } else {
      words = words.concat(given.fixed);
      columns.forEach(function (column) {
        if (!column.written) return;
        var option = given.options[column.field], value = column.written[column.data[row]];
        if (["--voip", "--routers-at-arrival"].includes(option)) { if (value === "on") words.push(option); } else words.push(option, value);
      });
    }
    return words.concat(["--seed", seed, "--plot", "series.svg"]).map(quote).join(" ");
  }
  function select(row) {
    selected = row; el("command").textContent = command(row); el("command-line").hidden = false; list();
  }

  function options(id, names, value, none) {
    el(id).innerHTML = "";
    (none ? [""] : []).concat(names).forEach(function (name) { el(id).append(new Option(name || none, name)); });
    el(id).value = value || "";
  }
  function begin(buffer) {
    unpack(buffer);
    var axes = columns.filter(function (c) { return c.role === "axis" && c.kind === "levels" && c.levels.length < 2000; });
    var varied = axes.filter(function (c) { return c.levels.length > 1; }).map(function (c) { return c.name; }), names = axes.map(function (c) { return c.name; });
    var numbers = axes.filter(function (c) { return !c.is_text && c.levels.length > 1; }).map(function (c) { return c.name; });
    var metrics = columns.filter(function (c) { return c.role === "metric" && !c.is_text; }).map(function (c) { return c.name; });
    var x = numbers[0] || varied[0] || names[0], others = varied.filter(function (name) { return name !== x; });
    options("x", names, x); options("y", metrics, metrics[0]);
    options("colour", names, others[0], "none"); options("facet", names, others.length > 2 ? others[1] : "", "none");
    columns.forEach(function (column) {
      var cell = document.createElement("th"), button = document.createElement("button"), down = true;
      if (!column.is_text) cell.className = "n";
      button.type = "button"; button.textContent = column.name;
      button.addEventListener("click", function () {
        down = !down;
        document.querySelectorAll("#head th").forEach(function (one) { one.removeAttribute("aria-sort"); });
        cell.setAttribute("aria-sort", down ? "descending" : "ascending"); sort(column, down);
      });
      cell.append(button); el("head").append(cell);
    });
    ["chart", "x", "y", "colour", "facet", "interval"].forEach(function (id) { el(id).addEventListener("change", draw); });
    el("controls").addEventListener("submit", function (event) { event.preventDefault(); });
    el("filter").addEventListener("input", filter);
    el("table").addEventListener("scroll", list);
    el("body").addEventListener("click", function (event) { var line = event.target.closest("tr[data-row]"); if (line) select(Number(line.dataset.row)); });
    el("figure").addEventListener("click", function (event) {
      var best = null, near = 24 * 24;
      marks.forEach(function (mark) { var d = Math.pow(mark[0] - event.offsetX, 2) + Math.pow(mark[1] - event.offsetY, 2); if (d < near) { near = d; best = mark; } });
      if (best) select(drawn.nearest(best[2], best[3]));
    });
    el("copy").addEventListener("click", function () { if (navigator.clipboard) navigator.clipboard.writeText(el("command").textContent).catch(function () {}); });
    el("svg").addEventListener("click", function () {
      var link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([svg(el("figure").clientWidth)], { type: "image/svg+xml" })); link.download = about.name + "-" + el("y").value + ".svg"; link.click();
    });
    window.addEventListener("resize", draw);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    filter();
    window.sweepReport = { ready: performance.now(), command: command, svg: function () { return svg(800); } };
  }
  decode().then(begin).catch(function (error) { el("problem").textContent = "This browser cannot show the report: " + error; });
})();
