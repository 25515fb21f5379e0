"use strict";
(() => {
  const HIDDEN_MS = 300000; // a page that is hidden for longer listens no more
  const SETTLE_MS = 150; // what comes together is loaded together
  const RETRY_MS = 3000;
  const here = document.body.dataset.project;
  const cursorMeta = document.querySelector("meta[name=cursor]");
  const title = document.title.replace(/^\(\d+\) /, "");

  // times, as the reader's clock has them
  const words = (milliseconds) => {
    const minutes = Math.floor(Math.max(0, milliseconds) / 60000);
    if (minutes < 120) return minutes ? `${minutes} min` : "less than 1 min";
    return minutes < 2880 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1440)} days`;
  };
  const tellTimes = () => {
    for (const time of document.querySelectorAll("time[datetime]")) {
      const at = new Date(time.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      const local = at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
      time.title = local;
      if ("ago" in time.dataset) time.textContent = `${words(Date.now() - at)} ago`;
      else if ("left" in time.dataset) time.textContent = at > Date.now() ? `${words(at - Date.now())} left` : "over";
      else time.textContent = local;
    }
  };
  setInterval(tellTimes, 30000);

  // the title and the icon carry the count
  const showCount = (count) => {
    document.title = count ? `(${count}) ${title}` : title;
    const icon = document.querySelector("link[rel=icon]");
    if (!icon) return;
    if (!icon.dataset.plain) icon.dataset.plain = icon.href;
    if (!count) { icon.href = icon.dataset.plain; return; }
    const text = count > 99 ? "99" : String(count);
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect x="1" y="5" width="24" height="24" rx="4" fill="#2f6f5e"/><circle cx="20" cy="12" r="12" fill="#b3401a"/><text x="20" y="17.5" font-size="15" font-family="sans-serif" font-weight="700" text-anchor="middle" fill="#fff">${text}</text></svg>`;
    icon.href = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  };

  // sections are loaded anew when something has changed
  const isWritten = (section) => [...section.querySelectorAll("textarea, input[type=text]")].some((one) => one.value !== one.defaultValue);
  const reload = async (section) => {
    const answer = await fetch(`${here}sections/${section.id}`, { headers: { Accept: "text/html" }, redirect: "error" });
    if (!answer.ok) throw new Error(String(answer.status));
    const part = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("section");
    if (!part) throw new Error("no section");
    if (part.dataset.count !== undefined) showCount(Number(part.dataset.count));
    if (isWritten(section)) { merge(section, part); return; }
    const focused = section.contains(document.activeElement) ? document.activeElement : null;
    const focus = focused && (focused.id || (focused.closest(".item") || {}).id);
    section.replaceChildren(...part.childNodes);
    if (part.dataset.count !== undefined) section.dataset.count = part.dataset.count;
    const again = focus && document.getElementById(focus);
    if (again) again.focus({ preventScroll: true });
    tellTimes();
  };
  // what is being written stays: only items that are new come, on top
  const merge = (section, part) => {
    const list = section.querySelector("ul.list");
    const count = section.querySelector(".count");
    if (count) count.textContent = part.querySelector(".count").textContent;
    for (const item of [...part.querySelectorAll(".item")].reverse()) {
      if (list && item.id && !document.getElementById(item.id)) list.prepend(item);
    }
    tellTimes();
  };
  let waiting = 0;
  let again = false;
  const live = document.getElementById("live");
  const tell = (text) => { if (live && live.textContent !== text) live.textContent = text; };
  const reloadAll = () => {
    if (waiting) { again = true; return; }
    waiting = setTimeout(async () => {
      try {
        await Promise.all([...document.querySelectorAll("section[data-key]")].map(reload));
      } catch {
        tell("not up to date: the server does not answer");
      }
      waiting = 0;
      if (again) { again = false; reloadAll(); }
    }, SETTLE_MS);
  };

  let source = null;
  let last = cursorMeta && cursorMeta.content;
  let retry = 0;
  const listen = () => {
    clearTimeout(retry);
    if (source || !last) return;
    source = new EventSource(`${here}events?cursor=${encodeURIComponent(last)}`);
    const take = (event) => { if (event.lastEventId) last = event.lastEventId; };
    source.addEventListener("ready", (event) => { take(event); tell("live"); });
    for (const name of ["change", "happening", "reset"]) {
      source.addEventListener(name, (event) => { take(event); reloadAll(); });
    }
    source.addEventListener("failed", rest);
    source.addEventListener("error", () => { if (source && source.readyState === EventSource.CLOSED) rest(); else tell("connecting"); });
  };
  const stop = () => { if (source) source.close(); source = null; };
  const rest = () => {
    stop();
    tell("not live: the server does not answer");
    retry = setTimeout(async () => {
      try {
        // an answer that sends to the login is no page of this project any more
        const answer = await fetch(`${here}sections/needs`, { redirect: "manual" });
        if (answer.type === "opaqueredirect" || answer.status === 401) { tell("logged out: reload the page"); return; }
        if (answer.ok) { reloadAll(); listen(); return; }
      } catch { /* it is asked again */ }
      rest();
    }, RETRY_MS);
  };
  let hiding = 0;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiding);
    if (document.hidden) { hiding = setTimeout(() => { stop(); clearTimeout(retry); tell("paused"); }, HIDDEN_MS); return; }
    if (!source && last) { reloadAll(); listen(); }
  });

  // keys
  const step = (by) => {
    const items = [...document.querySelectorAll(".item")].filter((item) => !item.closest("details:not([open])"));
    const at = items.findIndex((item) => item.contains(document.activeElement));
    const next = items[at < 0 ? (by > 0 ? 0 : items.length - 1) : Math.min(items.length - 1, Math.max(0, at + by))];
    if (next) { next.tabIndex = -1; next.focus(); next.scrollIntoView({ block: "nearest" }); }
  };
  let going = false;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = event.target;
    if (at instanceof Element && at.matches("input, textarea, select")) { if (event.key === "Escape") at.blur(); return; }
    const help = document.getElementById("help");
    const search = document.getElementById("q");
    const go = going && document.querySelector(`nav a[data-go="${CSS.escape(event.key)}"]`);
    going = false;
    if (go) location.href = go.href;
    else if (event.key === "g") going = true;
    else if (event.key === "?") { if (help.open) help.close(); else help.showModal(); }
    else if (help.open) return;
    else if (event.key === "/" && search) { search.focus(); search.select(); }
    else if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1);
    else if (event.key === "Enter" && at instanceof Element && at.matches(".item")) { const link = at.querySelector("a"); if (link) link.click(); }
    else if (/^[56]$/.test(event.key) && here) location.href = `${here}${event.key === "5" ? "memory" : "search"}`;
    else if (/^[1-4]$/.test(event.key) && here) {
      const section = document.querySelector(`section[data-key="${event.key}"]`);
      if (section) { const head = section.querySelector("h2"); head.focus(); section.scrollIntoView({ block: "start" }); }
      else if (!document.querySelector("section[data-key]")) location.href = here;
    } else return;
    event.preventDefault();
  });

  tellTimes();
  showCount(Number(document.body.dataset.count || 0));
  listen();
})();
