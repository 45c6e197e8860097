// Measures a report in a browser window (tests/live/test_report_browser.py).
(() => {
  const inner = window.innerWidth;
  const seen = (e) => {
    const box = e.getBoundingClientRect();
    return box.width > 0 && box.height > 0;
  };
  // Boxes that scroll separately, and Bokeh's drawings, may be wider than the window.
  const boxed = (e) => {
    for (let p = e; p; p = p.parentElement) {
      if (["auto", "scroll", "hidden"].includes(getComputedStyle(p).overflowX)) return true;
      if (p.classList.contains("chart")) return true;
    }
    return false;
  };
  const numbers = (colour) => (colour.match(/[\d.]+/g) || []).map(Number);
  // Relative luminance and contrast as WCAG 2.1 defines them.
  const luminance = (colour) => {
    const [r, g, b] = numbers(colour)
      .map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    for (let p = e; p; p = p.parentElement) {
      const colour = getComputedStyle(p).backgroundColor;
      if (numbers(colour)[3] !== 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const contrast = (e) => {
    const style = getComputedStyle(e);
    const ink = luminance(e.closest("svg") ? style.fill : style.color);
    const paper = luminance(behind(e));
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  };
  const inside = (e) => {
    const box = e.getBoundingClientRect();
    return box.width > 0 && box.left >= 0 && box.right <= inner;
  };
  const all = Array.from(document.body.querySelectorAll("*")).filter(seen);
  const texts = all.filter((e) =>
    Array.from(e.childNodes).some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim()),
  );
  const cells = Array.from(document.querySelectorAll("#claims-table tbody td:last-child"));
  const marked = Array.from(document.querySelectorAll("td[class*='v-']"));
  const headings = Array.from(document.querySelectorAll("h2"));
  return {
    inner,
    page: document.documentElement.scrollWidth,
    wide: all
      .filter((e) => e.getBoundingClientRect().right > inner + 1 && !boxed(e))
      .map((e) => e.outerHTML.slice(0, 80)),
    worst: texts
      .map((e) => [contrast(e), e.textContent.trim().slice(0, 40)])
      .sort((a, b) => a[0] - b[0])[0],
    verdicts: cells.length,
    marked: marked.length,
    hidden: marked.filter((e) => !inside(e)).length,
    headings: headings.map((e) => Math.round(e.offsetTop)),
    titles: headings.map((e) => e.firstChild.textContent),
    sketch: document.querySelector("#asked svg").getBoundingClientRect().width,
    charts: (window.Bokeh ? Bokeh.documents : [])
      .flatMap((page) => Array.from(page.all_models))
      .filter((model) => model.type === "Figure")
      .map((model) => model.background_fill_color),
  };
})()
