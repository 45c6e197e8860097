// Has the browser send the header, by a rule of its own, and shows load times beside the button.

import { settings, short } from "./settings.js";

const RULE = 1;
const TYPES = ["main_frame", "sub_frame", "stylesheet", "script", "image", "font", "object",
  "xmlhttprequest", "media", "other"];

/** One after the other: of two changes the later one holds. */
let applied = Promise.resolve();
const apply = () => (applied = applied.then(applyNow, applyNow));

async function applyNow() {
  const { on, targetMs } = await settings();
  const header = { header: "Response-Deadline", operation: "set", value: String(targetMs) };
  const rule = {
    id: RULE,
    action: { type: "modifyHeaders", requestHeaders: [header] },
    condition: { resourceTypes: TYPES },
  };
  await chrome.declarativeNetRequest.updateDynamicRules({
    removeRuleIds: [RULE],
    addRules: on ? [rule] : [],
  });
  await chrome.action.setTitle({ title: on ? `Responses within ${targetMs} ms` : "Deadlines are off" });
  await chrome.action.setBadgeBackgroundColor({ color: on ? "#1a6" : "#667" });
}

chrome.runtime.onInstalled.addListener(apply);
chrome.runtime.onStartup.addListener(apply);
chrome.storage.local.onChanged.addListener(apply);

chrome.runtime.onMessage.addListener(({ loadMs }, { tab }) => {
  if (!tab || !Number.isFinite(loadMs)) return;
  chrome.storage.session.set({ [`load-${tab.id}`]: loadMs });
  chrome.action.setBadgeText({ tabId: tab.id, text: short(loadMs) }).catch(() => {}); // it is closed
});

const forget = (tabId) => chrome.storage.session.remove(`load-${tabId}`);
chrome.tabs.onRemoved.addListener(forget);
chrome.tabs.onUpdated.addListener((tabId, { status }) => {
  if (status === "loading") forget(tabId); // the next page has its own, or none
});
