"use strict";
(() => {
  const TOGETHER_MS = 30; // what comes together is loaded together
  const GAP_MS = 200; // between two loads of a section, which doubles up to the next while more comes
  const MOST_GAP_MS = 1000;
  const RENEW_MS = 60000; // all is loaded so often, though nothing is told
  const COUNT_MS = 30000; // a hidden page asks so often for its count
  const RETRY_MS = 3000;
  const TICK_MS = 10000;
  const ASLEEP_MS = 30000; // ticks so far apart: the machine slept
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

  // a section is loaded anew after what its data-kinds names
  class Failure extends Error {
    constructor(text, isLogin = false) { super(text); this.isLogin = isLogin; }
  }
  const ask = async (name) => {
    let answer;
    try {
      answer = await fetch(`${here}sections/${name}`, { headers: { Accept: "text/html" }, redirect: "manual" });
    } catch { throw new Failure("the server does not answer"); }
    // an answer that sends to the login is no page of this project any more
    if (answer.type === "opaqueredirect" || answer.status === 401) throw new Failure("logged out", true);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const section = page.querySelector("section");
    if (answer.ok && section) return section;
    const said = [...page.querySelectorAll("main p.text")].map((one) => one.textContent);
    throw new Failure(said.join(". ") || `the server answers ${answer.status}`);
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
    tellTimes();
  };
  // what has the focus and no id is found again by its place in its item; where that is gone, the section has it
  const focusIn = (section) => {
    const at = document.activeElement;
    if (!section.contains(at)) return () => {};
    const { id } = at.id ? at : at.closest(".item") || section;
    const all = () => [document.getElementById(id), ...(document.getElementById(id)?.querySelectorAll("a, button, input, textarea, select, summary") || [])];
    const number = all().indexOf(at);
    return () => (all()[number] || section.querySelector("h2")).focus({ preventScroll: true });
  };
  // what is being written stays: only items that are new come, on top
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
  // at once after a pause; while more comes, ever later
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
    // a server that is slow is asked less often
    part.gap = Math.max(Math.min(MOST_GAP_MS, 2 * part.gap), 5 * (performance.now() - part.at));
    part.isBusy = false;
    plan(part);
  };

  // live: the stream says what was written or happened; it is open while the page can be seen
  const live = document.getElementById("live");
  const tell = (text, isLogin = false) => {
    if (!live || live.dataset.told === text) return;
    live.dataset.told = text;
    live.textContent = text;
    if (!isLogin) return;
    const link = Object.assign(document.createElement("a"), { href: "/login", textContent: "log in again" });
    live.append(": ", link);
  };
  let source = null;
  let last = cursorMeta && cursorMeta.content; // null: this page does not listen; empty: from now on
  let isStale = false; // whether something may have changed that the stream does not tell
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
    hear("ready", () => { tell("live"); if (isStale) touchAll(); isStale = false; });
    for (const name of ["change", "happening"]) hear(name, (event) => touch(JSON.parse(event.data).kind));
    hear("reset", touchAll);
    hear("failed", (event) => { const { problem, remedy } = JSON.parse(event.data); rest(new Failure(`${problem}. ${remedy}`)); });
    source.addEventListener("error", () => {
      isStale = true;
      if (source && source.readyState === EventSource.CLOSED) rest(new Failure("the server does not answer"), 0);
      else tell("not live: connecting again");
    });
  };
  const stop = () => {
    clearTimeout(timer);
    if (source) source.close();
    source = null;
    for (const part of parts) { clearTimeout(part.timer); part.timer = 0; }
  };
  // the page says why it is not live, and goes on by itself: from then on, since what it knew may be of another store
  const rest = (failure, pause = RETRY_MS) => {
    if (last === null || document.hidden) return;
    stop();
    if (pause) tell(failure.isLogin ? failure.message : `not live: ${failure.message}`, failure.isLogin);
    timer = setTimeout(async () => {
      try { await ask("needs"); } catch (again) { rest(again); return; }
      isStale = true;
      last = "";
      listen();
    }, pause);
  };
  // hidden, it keeps the count alone: browsers hold six connections to a server, and each stream takes one
  const count = async () => {
    try { showCount(Number((await ask("needs")).dataset.count)); } catch { /* the page says it when it is seen */ }
    timer = setTimeout(count, COUNT_MS);
  };
  const resume = () => {
    tellTimes();
    if (last === null) return;
    stop();
    if (document.hidden) { tell("paused"); timer = setTimeout(count, COUNT_MS); return; }
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
    tellTimes();
    // time alone changes some of it, as that a session went silent or a claim is over
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
