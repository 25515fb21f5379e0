"use strict";
(() => {
  const TOGETHER_MS = 30; // events within this time cause one load
  const GAP_MS = 200; // least time between two loads; doubles up to the next while events continue
  const MOST_GAP_MS = 1000;
  const RENEW_MS = 60000; // the page is loaded after this time even without an event
  const HIDDEN_MS = 30000; // a hidden page loads its count this often
  const RETRY_MS = 3000;
  const TICK_MS = 10000;
  const ASLEEP_MS = 30000; // a longer gap between two ticks means that the machine slept
  const { project, cursor } = document.body.dataset;

  // times in the reader's time zone; a server without the reader's zone writes UTC
  const words = (milliseconds) => {
    const minutes = Math.floor(Math.max(0, milliseconds) / 60000);
    if (minutes < 120) return minutes ? `${minutes} min` : "less than 1 min";
    return `${Math.floor(minutes / 60)} h`;
  };
  const day = { day: "numeric", month: "short" }, clock = { hour: "2-digit", minute: "2-digit" };
  const write = (at, parts) => new Date(at).toLocaleString("en-GB", parts).replace(",", "");
  const put = (one, text) => { if (one.textContent !== text) one.textContent = text; };
  const showTimes = (root = document) => {
    for (const time of root.querySelectorAll("time[datetime]")) {
      const at = new Date(time.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      const passed = Date.now() - at;
      time.title = at.toLocaleString(undefined, { dateStyle: "full", timeStyle: "medium" });
      let text = write(at, "clock" in time.dataset ? clock : "day" in time.dataset ? day : { ...day, ...clock });
      if ("left" in time.dataset) text = passed < 0 ? `${words(-passed)} left` : "expired";
      else if ("ago" in time.dataset && passed < 86400000) text = `${words(passed)}${time.dataset.ago}`;
      put(time, text);
    }
    for (const one of root.querySelectorAll("svg [data-at]")) {
      const text = [one.dataset.at, one.dataset.to].filter(Boolean).map((at) => write(Number(at), clock)).join("–");
      put(one, one.matches("title") ? one.textContent.replace(/^.* UTC/, text) : text);
    }
  };

  const icon = document.querySelector("link[rel=icon]");
  const plainIcon = icon && icon.href;
  const showCount = (count) => {
    if (!icon) return;
    const text = count > 99 ? "99" : String(count);
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect x="1" y="5" width="24" height="24" rx="4" fill="#5a5e64"/><circle cx="20" cy="12" r="12" fill="#b3261e"/><text x="20" y="17.5" font-size="15" font-family="sans-serif" font-weight="700" text-anchor="middle" fill="#fff">${text}</text></svg>`;
    icon.href = count ? `data:image/svg+xml,${encodeURIComponent(svg)}` : plainIcon;
  };

  // a change of the server's page goes into the page without moving what the person reads, writes or has opened
  const isWritten = (one) => one.matches("textarea, input:not([type=hidden])") && (one.value !== one.defaultValue || one === document.activeElement);
  const isBusy = (one) => one.nodeType === 1 && [one, ...one.querySelectorAll("textarea, input")].some(isWritten);
  const update = (old, now) => {
    if (old.isEqualNode(now)) return;
    if (old.nodeType !== now.nodeType || old.nodeName !== now.nodeName) { old.replaceWith(now); return; }
    if (old.nodeType !== 1) { old.nodeValue = now.nodeValue; return; }
    // a form keeps what it knew when the person began to write
    if (isWritten(old) || (old.matches("form") && isBusy(old))) return;
    for (const { name } of [...old.attributes]) if (!now.hasAttribute(name) && name !== "open" && name !== "tabindex") old.removeAttribute(name);
    for (const { name, value } of now.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    if (old.matches("time, [data-at]")) return;
    const ids = new Set([...now.children].map((one) => one.id).filter(Boolean));
    for (const one of [...old.children]) if (one.id && !ids.has(one.id) && !isBusy(one)) one.remove();
    let at = old.firstChild;
    for (const next of [...now.childNodes]) {
      while (at && at.id && !ids.has(at.id)) at = at.nextSibling; // is being written in
      const same = next.id ? [...old.children].find((one) => one.id === next.id) : at && !at.id ? at : null;
      if (!same) { old.insertBefore(next, at); continue; }
      if (same !== at) old.insertBefore(same, at);
      at = same.nextSibling;
      update(same, next);
    }
    while (at) { const rest = at.nextSibling; if (!isBusy(at)) at.remove(); at = rest; }
  };

  const failure = (text, isLogin = false) => Object.assign(new Error(text), { isLogin });
  const read = async () => {
    let answer;
    try {
      answer = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "manual" });
    } catch { throw failure("the server does not answer"); }
    // a redirect to the login means that the login has ended
    if (answer.type === "opaqueredirect" || answer.status === 401) throw failure("logged out", true);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (answer.ok) return page;
    const messages = [...page.querySelectorAll("main [data-problem]")].map((one) => one.textContent);
    throw failure(messages.join(". ") || `the server answers ${answer.status}`);
  };
  const renew = (page) => {
    const count = Number(page.body.dataset.count || 0);
    document.title = page.title;
    showCount(count);
    showTimes(page);
    for (const part of ["nav.nav", "main"]) {
      const [old, now] = [document.querySelector(part), page.querySelector(part)];
      // a confirmation stays until the person leaves
      if (old && now) update(old, now);
    }
    showTimes();
  };

  // the page is loaded soon after an event, and the less often the longer that takes
  const load = { isDue: false, isBusy: false, timer: 0, gap: GAP_MS, at: -Infinity };
  const plan = () => {
    if (!load.isDue || load.isBusy || load.timer || !source) return;
    const passed = performance.now() - load.at;
    if (passed > 2 * MOST_GAP_MS) load.gap = GAP_MS;
    load.timer = setTimeout(run, Math.max(TOGETHER_MS, load.gap - passed));
  };
  const run = async () => {
    Object.assign(load, { timer: 0, isDue: false, isBusy: true, at: performance.now() });
    try { renew(await read()); } catch (error) { load.isDue = true; rest(error); }
    load.gap = Math.max(Math.min(MOST_GAP_MS, 2 * load.gap), 5 * (performance.now() - load.at));
    load.isBusy = false;
    plan();
  };

  // the event stream, open while the page is visible
  const live = document.getElementById("live");
  const showStatus = (state, text, isLogin = false) => {
    if (!live || live.dataset.text === text) return;
    Object.assign(live.dataset, { state, text });
    live.textContent = text;
    const link = isLogin ? ["/login", "Log in again"] : state === "lost" ? [location.href, "reload"] : null;
    if (link) live.append(", ", Object.assign(document.createElement("a"), { href: link[0], textContent: link[1] }));
  };
  let source = null;
  let last = cursor; // undefined: the page has no stream; empty: start from now
  let isStale = false; // whether events may have been missed
  let renewedAt = Date.now();
  let timer = 0;
  const touch = () => { load.isDue = true; plan(); };
  const touchAll = () => { renewedAt = Date.now(); touch(); };
  const listen = () => {
    clearTimeout(timer);
    if (last === undefined || source || document.hidden) return;
    source = new EventSource(`${project}events${last && `?cursor=${encodeURIComponent(last)}`}`);
    const hear = (name, then) => source.addEventListener(name, (event) => {
      if (event.lastEventId) last = event.lastEventId;
      then(event);
    });
    hear("ready", () => { showStatus("live", "Live"); if (isStale) touchAll(); isStale = false; });
    for (const name of ["change", "happening"]) hear(name, touch);
    hear("reset", touchAll);
    hear("failed", (event) => { const { problem, remedy } = JSON.parse(event.data); rest(failure(`${problem}. ${remedy}`)); });
    source.addEventListener("error", () => {
      isStale = true;
      if (source && source.readyState === EventSource.CLOSED) rest(failure("the server does not answer"), 0);
      else showStatus("lost", "Not live");
    });
  };
  const stop = () => {
    clearTimeout(timer);
    clearTimeout(load.timer);
    load.timer = 0;
    if (source) source.close();
    source = null;
  };
  // show why the page is not live, and reconnect without a cursor, since the store may be another one
  const rest = (error, pause = RETRY_MS) => {
    if (last === undefined || document.hidden) return;
    stop();
    if (pause) showStatus("lost", error.isLogin ? "Logged out" : "Not live", error.isLogin);
    if (live) live.title = error.message;
    timer = setTimeout(async () => {
      try { await read(); } catch (again) { rest(again); return; }
      isStale = true;
      last = "";
      listen();
    }, pause);
  };
  // a hidden page only updates its count, since browsers open six connections to a server and a stream takes one
  const count = async () => {
    try { const page = await read(); document.title = page.title; showCount(Number(page.body.dataset.count)); } catch { /* shown when the page is visible again */ }
    timer = setTimeout(count, HIDDEN_MS);
  };
  const resume = () => {
    showTimes();
    if (last === undefined) return;
    stop();
    if (document.hidden) { showStatus("paused", "Paused"); timer = setTimeout(count, HIDDEN_MS); return; }
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

  // menus close by themselves, selects of filters apply at once, commands are copied
  const closeMenus = (but) => { for (const one of document.querySelectorAll("details.menu[open]")) if (one !== but) one.open = false; };
  document.addEventListener("click", (event) => {
    closeMenus(event.target.closest("details.menu"));
    const { copy } = event.target.dataset;
    if (copy) navigator.clipboard.writeText(copy).then(() => { event.target.textContent = "Copied"; });
  });
  document.addEventListener("change", (event) => { if (event.target.matches("select[data-apply]")) event.target.form.requestSubmit(); });
  // the last of several names is completed
  document.addEventListener("input", (event) => {
    const before = event.target.list && /^.*,\s*/.exec(event.target.value);
    for (const one of event.target.list ? event.target.list.options : []) {
      one.dataset.name ??= one.value;
      one.value = (before ? before[0] : "") + one.dataset.name;
    }
  });
  document.addEventListener("toggle", (event) => {
    const form = event.target.matches("details.act[open]") && event.target.closest("li").querySelector(".ask textarea");
    if (form) form.focus();
  }, true);

  // keys
  const items = () => [...document.querySelectorAll("[data-item]")].filter((item) => item.checkVisibility());
  const step = (by) => {
    const all = items();
    const at = all.findIndex((item) => item.contains(document.activeElement));
    const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by))];
    if (next) { next.tabIndex = -1; next.focus(); next.scrollIntoView({ block: "nearest" }); }
  };
  let going = false;
  document.addEventListener("keydown", (event) => {
    const at = event.target;
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter" && at.form) at.form.requestSubmit();
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") closeMenus();
    if (at instanceof Element && at.matches("input, textarea, select")) { if (event.key === "Escape") at.blur(); return; }
    const help = document.getElementById("help");
    const search = document.getElementById("q");
    const go = going && document.querySelector(`nav a[data-go="${CSS.escape(event.key)}"]`);
    const item = at instanceof Element && at.closest("[data-item]");
    going = false;
    if (go) location.href = go.href;
    else if (event.key === "g") going = true;
    else if (event.key === "?") { if (help.open) help.close(); else help.showModal(); }
    else if (help.open) return;
    else if (event.key === "/" && search) { search.focus(); search.select(); }
    else if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1);
    else if (event.key === "r" && item) { const first = item.querySelector(".do .btn, .do button"); if (first) first.click(); }
    else if (event.key === "Enter" && at === item) { const link = at.querySelector("a"); if (link) link.click(); }
    else return;
    event.preventDefault();
  });

  showCount(Number(document.body.dataset.count || 0));
  resume();
})();
