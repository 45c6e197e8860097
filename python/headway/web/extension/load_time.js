// In every page: how long it took from its navigation to the end of its load event.

function tell() {
  const [navigation] = performance.getEntriesByType("navigation");
  chrome.runtime.sendMessage({ loadMs: navigation.loadEventEnd });
}

// the event's end is known once its handlers have run
if (document.readyState === "complete") setTimeout(tell);
else addEventListener("load", () => setTimeout(tell), { once: true });
