"use strict";
(() => {
  const TOGETHER_MS = 30; // events within this time cause one load
  const GAP_MS = 200; // least time between two loads of a section; doubles up to the next while events continue
  const MOST_GAP_MS = 1000;
  const RENEW_MS = 60000; // everything is loaded after this time even without an event
  const COUNT_MS = 30000; // a hidden page loads its count this often
  const RETRY_MS = 3000;
  const TICK_MS = 10000;
  const ASLEEP_MS = 30000; // a longer gap between two ticks means that the machine slept
  const here = document.body.dataset.project;
  const cursorMeta = document.querySelector("meta[name=cursor]");
  const title = document.title.replace(/^\(\d+\) /, "");

  // times in the reader's time zone
  const words = (milliseconds) => {
    const minutes = Math.floor(Math.max(0, milliseconds) / 60000);
    if (minutes < 120) return minutes ? `${minutes} min` : "less than 1 min";
    return minutes < 2880 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1440)} days`;
  };
  const showTimes = () => {
    for (const time of document.querySelectorAll("time[datetime]")) {
      const at = new Date(time.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      const local = at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
      time.title = local;
      if ("ago" in time.dataset) time.textContent = `${words(Date.now() - at)} ago`;
      else if ("left" in time.dataset) time.textContent = at > Date.now() ? `${words(at - Date.now())} left` : "expired";
      else time.textContent = local;
    }
  };

  // title and icon show the count
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

  // a section is reloaded after events of the kinds in its data-kinds
  class Failure extends Error {
    constructor(text, isLogin = false) { super(text); this.isLogin = isLogin; }
  }
  const ask = async (name) => {
    let answer;
    try {
      answer = await fetch(`${here}sections/${name}`, { headers: { Accept: "text/html" }, redirect: "manual" });
    } catch { throw new Failure("the server does not answer"); }
    // a redirect to the login means that the login has ended
    if (answer.type === "opaqueredirect" || answer.status === 401) throw new Failure("logged out", true);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const section = page.querySelector("section");
    if (answer.ok && section) return section;
    const messages = [...page.querySelectorAll("main p.text")].map((one) => one.textContent);
    throw new Failure(messages.join(". ") || `the server answers ${answer.status}`);
  };
  const isWritten = (section) => [...section.querySelectorAll("textarea, input[type=text]")].some((one) => one.value !== one.defaultValue);
  const renew = (section, part) => {
    if (part.dataset.count !== undefined) { section.dataset.count = part.dataset.count; showCount(Number(part.dataset.count)); }
    if (isWritten(section)) merge(section, part);
    else {
      const focusAgain = focusIn(section);
      section.replaceChildren(...part.childNodes);
      focusAgain();
    }
    showTimes();
  };
  // keep the focus: an element without an id is found by its place in its item, else the heading gets it
  const focusIn = (section) => {
    const at = document.activeElement;
    if (!section.contains(at)) return () => {};
    const { id } = at.id ? at : at.closest(".item") || section;
    const all = () => [document.getElementById(id), ...(document.getElementById(id)?.querySelectorAll("a, button, input, textarea, select, summary") || [])];
    const number = all().indexOf(at);
    return () => (all()[number] || section.querySelector("h2")).focus({ preventScroll: true });
  };
  // while the person is typing, only new items are added, on top
  const merge = (section, part) => {
    const list = section.querySelector("ul.list");
    const count = section.querySelector(".count");
    if (count) count.textContent = part.querySelector(".count").textContent;
    for (const item of [...part.querySelectorAll(".item")].reverse()) {
      if (list && item.id && !document.getElementById(item.id)) list.prepend(item);
    }
  };
  const parts = [...document.querySelectorAll("section[data-key]")].map((section) => (
    { section, kinds: (section.dataset.kinds || "").split(" "), isDue: false, isBusy: false, timer: 0, gap: GAP_MS, at: -Infinity }
  ));
  const touch = (kind) => {
    for (const part of parts) if (!kind || part.kinds.includes(kind)) { part.isDue = true; plan(part); }
  };
  // load at once after a pause, and less often while events continue
  const plan = (part) => {
    if (!part.isDue || part.isBusy || part.timer || !source) return;
    const passed = performance.now() - part.at;
    if (passed > 2 * MOST_GAP_MS) part.gap = GAP_MS;
    part.timer = setTimeout(load, Math.max(TOGETHER_MS, part.gap - passed), part);
  };
  const load = async (part) => {
    Object.assign(part, { timer: 0, isDue: false, isBusy: true, at: performance.now() });
    try {
      renew(part.section, await ask(part.section.id));
    } catch (failure) {
      part.isDue = true;
      rest(failure);
    }
    // load less often from a slow server
    part.gap = Math.max(Math.min(MOST_GAP_MS, 2 * part.gap), 5 * (performance.now() - part.at));
    part.isBusy = false;
    plan(part);
  };

  // the event stream, open while the page is visible
  const live = document.getElementById("live");
  const showStatus = (text, isLogin = false) => {
    if (!live || live.dataset.text === text) return;
    live.dataset.text = text;
    live.textContent = text;
    if (!isLogin) return;
    const link = Object.assign(document.createElement("a"), { href: "/login", textContent: "log in again" });
    live.append(": ", link);
  };
  let source = null;
  let last = cursorMeta && cursorMeta.content; // null: the page has no stream; empty: start from now
  let isStale = false; // whether events may have been missed
  let renewedAt = Date.now();
  let timer = 0;
  const touchAll = () => { renewedAt = Date.now(); touch(); };
  const listen = () => {
    clearTimeout(timer);
    if (last === null || source || document.hidden) return;
    source = new EventSource(`${here}events${last && `?cursor=${encodeURIComponent(last)}`}`);
    const hear = (name, then) => source.addEventListener(name, (event) => {
      if (event.lastEventId) last = event.lastEventId;
      then(event);
    });
    hear("ready", () => { showStatus("live"); if (isStale) touchAll(); isStale = false; });
    for (const name of ["change", "happening"]) hear(name, (event) => touch(JSON.parse(event.data).kind));
    hear("reset", touchAll);
    hear("failed", (event) => { const { problem, remedy } = JSON.parse(event.data); rest(new Failure(`${problem}. ${remedy}`)); });
    source.addEventListener("error", () => {
      isStale = true;
      if (source && source.readyState === EventSource.CLOSED) rest(new Failure("the server does not answer"), 0);
      else showStatus("not live: connecting again");
    });
  };
  const stop = () => {
    clearTimeout(timer);
    if (source) source.close();
    source = null;
    for (const part of parts) { clearTimeout(part.timer); part.timer = 0; }
  };
  // show why the page is not live, and reconnect without a cursor, since the store may be another one
  const rest = (failure, pause = RETRY_MS) => {
    if (last === null || document.hidden) return;
    stop();
    if (pause) showStatus(failure.isLogin ? failure.message : `not live: ${failure.message}`, failure.isLogin);
    timer = setTimeout(async () => {
      try { await ask("needs"); } catch (again) { rest(again); return; }
      isStale = true;
      last = "";
      listen();
    }, pause);
  };
  // a hidden page only updates its count, since browsers open six connections to a server and a stream takes one
  const count = async () => {
    try { showCount(Number((await ask("needs")).dataset.count)); } catch { /* shown when the page is visible again */ }
    timer = setTimeout(count, COUNT_MS);
  };
  const resume = () => {
    showTimes();
    if (last === null) return;
    stop();
    if (document.hidden) { showStatus("paused"); timer = setTimeout(count, COUNT_MS); return; }
    isStale = isStale || Date.now() - renewedAt > RENEW_MS;
    listen();
  };
  document.addEventListener("visibilitychange", resume);
  window.addEventListener("online", resume);
  let tickedAt = Date.now();
  setInterval(() => {
    const passed = Date.now() - tickedAt;
    tickedAt = Date.now();
    if (document.hidden) return;
    if (passed > ASLEEP_MS) { isStale = true; resume(); return; }
    showTimes();
    // some changes cause no event: a session goes silent, a claim expires
    if (source && Date.now() - renewedAt > RENEW_MS) touchAll();
  }, TICK_MS);

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
    else if (/^[1-4]$/.test(event.key) && here) {
      const section = document.querySelector(`section[data-key="${event.key}"]`);
      if (section) { const head = section.querySelector("h2"); head.focus(); section.scrollIntoView({ block: "start" }); }
      else if (!document.querySelector("section[data-key]")) location.href = here;
    } else return;
    event.preventDefault();
  });

  showCount(Number(document.body.dataset.count || 0));
  resume();
})();
