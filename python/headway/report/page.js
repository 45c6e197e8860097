(function () {
  // A click on # copies the link to the clipboard if the browser allows it.
  document.querySelectorAll("a.anchor").forEach(function (link) {
    link.addEventListener("click", function () {
      if (navigator.clipboard) navigator.clipboard.writeText(link.href).catch(function () {});
    });
  });
})();
(function () {
  // The table of claims can be filtered by words and buttons.
  var table = document.getElementById("claims-table");
  if (!table) return;
  var rows = Array.from(table.querySelectorAll("tbody tr"));
  var buttons = Array.from(document.querySelectorAll(".filter button"));
  var field = document.getElementById("claims-text");
  var key = "", value = "";
  function show() {
    var words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    var shown = 0;
    rows.forEach(function (row) {
      var text = row.textContent.toLowerCase();
      var match = (!key || row.dataset[key] === value) &&
        words.every(function (word) { return text.includes(word); });
      row.hidden = !match;
      shown += match ? 1 : 0;
    });
    document.getElementById("claims-count").textContent = shown + " of " + rows.length;
  }
  function choose(button) {
    key = button.dataset.key;
    value = button.dataset.value;
    buttons.forEach(function (b) { b.setAttribute("aria-pressed", String(b === button)); });
    show();
  }
  buttons.forEach(function (button) {
    button.addEventListener("click", function () { choose(button); });
  });
  field.addEventListener("input", show);
  // A link to a claim shows it even if it is filtered out.
  window.addEventListener("hashchange", function () {
    var target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target || !target.hidden) return;
    field.value = "";
    choose(buttons[0]);
    target.scrollIntoView();
  });
  window.addEventListener("beforeprint", function () { rows.forEach(function (row) { row.hidden = false; }); });
  window.addEventListener("afterprint", show);
  show();
})();
(function () {
  // Charts are drawn on a canvas, which style sheets do not affect, so they get the page's colours.
  if (!window.Bokeh) return;
  var dark = window.matchMedia("(prefers-color-scheme: dark)");
  var lines = JSON.parse(document.documentElement.dataset.dark);
  function paint() {
    var style = getComputedStyle(document.documentElement);
    function colour(name) { return style.getPropertyValue("--" + name).trim(); }
    var texts = { axis_label_text_color: "ink", major_label_text_color: "ink", axis_line_color: "edge",
                  major_tick_line_color: "edge", minor_tick_line_color: "edge", grid_line_color: "grid",
                  background_fill_color: "paper", border_fill_color: "paper", outline_line_color: "line",
                  label_text_color: "ink" };
    Bokeh.documents.forEach(function (page) {
      page.all_models.forEach(function (model) {
        Object.keys(texts).forEach(function (name) {
          if (name in model.properties) model[name] = colour(texts[name]);
        });
        if (model.type === "GlyphRenderer" && model.name in lines) {
          var line = dark.matches ? lines[model.name] : model.name;
          model.glyph.line_color = line;
          if ("fill_color" in model.glyph.properties) model.glyph.fill_color = line;
        }
      });
    });
  }
  function start() {
    if (Bokeh.documents.length) paint(); else window.setTimeout(start, 20);
  }
  window.addEventListener("load", start);
  dark.addEventListener("change", paint);
})();
