// What the person chose, and how it is said of a button: for the background and the popup.

/** As of the header's server side (headway/web/target.py): whole ms here, for a person sets them. */
export const MOST_MS = 3600000;

const CHOSEN = { on: false, targetMs: 300 };

/** {on, targetMs} as last chosen. */
export const settings = () => chrome.storage.local.get(CHOSEN);

/** The number a person wrote, or null if it is no target. */
export function targetOf(written) {
  if (!/^[0-9]{1,7}$/.test(written.trim())) return null;
  const targetMs = Number(written);
  return targetMs > 0 && targetMs <= MOST_MS ? targetMs : null;
}

/** When the tab's last page had loaded, in ms from its navigation; null: none since the start. */
export async function loadOf(tabId) {
  const key = `load-${tabId}`;
  return (await chrome.storage.session.get(key))[key] ?? null;
}

/** A time beside a button, where four characters are seen. */
export function short(ms) {
  if (ms < 1000) return `${Math.round(ms)}`;
  return ms < 99500 ? `${(ms / 1000).toPrecision(2)}s` : "long";
}
