// The switch, the target, and the page's load time.

import { loadOf, MOST_MS, settings, targetOf } from "./settings.js";

const of = (id) => document.getElementById(id);
const [on, target, wrong] = [of("on"), of("target"), of("wrong")];

const chosen = await settings();
on.checked = chosen.on;
target.value = chosen.targetMs;

on.addEventListener("change", () => chrome.storage.local.set({ on: on.checked }));
target.addEventListener("input", () => {
  const targetMs = targetOf(target.value);
  target.ariaInvalid = String(targetMs === null);
  wrong.textContent = targetMs === null ? `1 to ${MOST_MS} ms; unchanged` : "";
  if (targetMs !== null) chrome.storage.local.set({ targetMs });
});

const [tab] = await chrome.tabs.query({ active: true, currentWindow: true });
const loadMs = tab && (await loadOf(tab.id));
if (loadMs !== null && loadMs !== undefined) {
  document.querySelector("output").textContent = `${Math.round(loadMs).toLocaleString("en")} ms`;
}
