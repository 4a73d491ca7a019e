// The tab for recent traffic: rates and distributions by reward, and the latest responses with filters.

import { $, ask, draw, make, number, short } from "./common.js";

const opened = new Set(); // rewards whose data sources are shown
let latest = ""; // ids of the responses that are shown
let asked = 0;

export async function refresh() {
  if ($("traffic").hidden || document.hidden) return;
  const mine = ++asked;
  try {
    const seen = await ask("traffic");
    if (mine !== asked) return;
    const rewards = Object.entries(seen.rewards);
    $("quiet").textContent = "Nothing has been scored yet.";
    $("quiet").hidden = rewards.length > 0;
    $("rates").hidden = $("responses").hidden = !rewards.length;
    const rows = rewards.flatMap(([name, counted]) => rowsOf(name, counted, seen.sources));
    fillIn($("rates"), rows);
    offerSources(Object.keys(seen.sources));
    if (rewards.length && !$("hold").checked) await list(mine);
  } catch (error) {
    $("quiet").textContent = error.message;
    $("quiet").hidden = false;
  }
}

// Show rows in a table. On a narrow screen, each value has its own line, labelled with the column's name.
function fillIn(place, rows) {
  const names = [...place.querySelectorAll("th")].map((head) => head.textContent);
  for (const row of rows) [...row.children].forEach((cell, i) => (cell.dataset.name = names[i]));
  place.querySelector("tbody").replaceChildren(...rows);
}

export function watchFilters() {
  let timer;
  for (const id of ["of-source", "of-verdict", "of-text"])
    $(id).addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => list(++asked), 150);
    });
  $("hold").onchange = refresh;
  $("filters").onsubmit = (event) => event.preventDefault();
}

// --- rates ---------------------------------------------------------------------------------------------

// Rows for a reward: one for the reward and, if requested, one for each of its several data sources.
function rowsOf(name, counted, sources) {
  const own = Object.entries(sources).filter(([, source]) => source.reward === name);
  if (own.length < 2) {
    const [only] = own[0];
    return [rateRow([make("b", {}, name), make("div", { class: "hint" }, only)], counted)];
  }
  const toggle = make("button", { class: "plain toggle", "aria-expanded": opened.has(name) },
    make("b", {}, name), make("span", { class: "hint" }, ` ${own.length} data sources`));
  toggle.onclick = () => {
    if (!opened.delete(name)) opened.add(name);
    refresh();
  };
  const below = opened.has(name) ? own.map(([source, one]) => rateRow([source], one, "below")) : [];
  return [rateRow([toggle], counted), ...below];
}

function rateRow(title, counted, kind = "") {
  const last = counted.per_second.slice(-10).reduce((a, b) => a + b, 0) / 10;
  const most = Math.max(...counted.per_second);
  return make("tr", { class: kind },
    make("td", {}, ...title),
    make("td", {}, sparkline(counted.per_second), make("span", { class: "hint" }, `${number(last)} now, ${most} peak`)),
    make("td", { class: "number" }, counted.total.toLocaleString("en")),
    make("td", { class: "number" }, counted.mean === null ? "–" : counted.mean.toFixed(3)),
    make("td", { class: "number" }, counted.correct === null ? "–" : `${(100 * counted.correct).toFixed(1)} %`),
    make("td", { class: counted.failed ? "number error" : "number" }, counted.failed.toLocaleString("en")),
    make("td", {}, histogram(counted.scores)));
}

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

// Chart of samples per second, with a time axis and a number axis.
function sparkline(values) {
  const [width, height, left, top, bottom] = [220, 52, 34, 8, 14];
  const most = Math.max(1, ...values);
  const floor = height - bottom;
  const points = values.map((v, i) =>
    `L${left + (i * (width - left)) / values.length},${floor - (v / most) * (floor - top)}`);
  const text = (x, y, anchor, said) => draw("text", { x, y, "text-anchor": anchor }, said);
  return draw("svg", { width, height, role: "img", "aria-label": `at most ${most} per second` },
    draw("path", { d: `M${left},${floor}${points.join("")}L${width},${floor}Z` }),
    draw("line", { x1: left, x2: width, y1: floor, y2: floor }),
    draw("line", { x1: left, x2: left, y1: top, y2: floor }),
    text(left - 4, top + 4, "end", compact.format(most)), text(left - 4, floor + 3, "end", "0"),
    text(left, height - 3, "start", `${values.length} s ago`), text(width, height - 3, "end", "now"));
}

// Bar chart of counts by score, with an axis for each.
function histogram(scores) {
  if (!scores.length) return "–";
  const [width, height, left, right, top, bottom] = [220, 66, 40, 6, 8, 16];
  const [low, high] = [Math.min(0, scores[0][0]), Math.max(1, scores.at(-1)[0])];
  const most = Math.max(...scores.map(([, count]) => count));
  const x = (value) => left + 3 + ((value - low) / (high - low)) * (width - left - right - 6);
  const y = (count) => height - bottom - (count / most) * (height - top - bottom);
  const text = (at, down, anchor, said) => draw("text", { x: at, y: down, "text-anchor": anchor }, said);
  const bars = scores.map(([value, count]) => draw("rect", {
    x: x(value) - 3, width: 6, y: Math.min(y(count), height - bottom - 1.5), height: Math.max(1.5, height - bottom - y(count)),
  }, draw("title", {}, `${number(value)}: ${count.toLocaleString("en")}`)));
  const ticks = [low, (low + high) / 2, high].map((value, i) =>
    text(x(value), height - 4, ["start", "middle", "end"][i], compact.format(value)));
  return draw("svg", { width, height, role: "img", class: "histogram", "aria-label":
    scores.map(([value, count]) => `${number(value)}: ${count}`).join(", ") },
    draw("line", { x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }),
    draw("line", { x1: left, x2: left, y1: top, y2: height - bottom }),
    text(left - 4, top + 4, "end", compact.format(most)), text(left - 4, height - bottom + 3, "end", "0"),
    ...ticks, ...bars);
}

// --- responses -----------------------------------------------------------------------------------------

function offerSources(names) {
  const select = $("of-source");
  const known = new Set([...select.options].map((option) => option.value));
  for (const name of names.toSorted()) if (!known.has(name)) select.append(make("option", { value: name }, name));
}

async function list(mine) {
  const filter = { source: $("of-source").value, verdict: $("of-verdict").value, text: $("of-text").value };
  let found;
  try {
    found = await ask(`traffic/responses?${new URLSearchParams(filter)}`);
  } catch (error) {
    found = { responses: [], problem: error.message };
  }
  if (mine !== asked) return;
  const filtered = Object.values(filter).some(Boolean);
  $("none").textContent = found.problem || (found.responses.length ? "" : filtered ? "No matching responses." : "No responses are stored.");
  $("latest").hidden = !found.responses.length;
  const ids = found.responses.map((one) => one.id).join();
  if (ids === latest) return; // a text that is being selected stays
  latest = ids;
  fillIn($("latest"), found.responses.map(responseRow));
}

const WORDS = { right: ["good", "correct"], wrong: ["bad", "wrong"], scored: ["", ""] };

function responseRow(one) {
  const [colour, word] = WORDS[one.verdict] || ["unsure", one.status];
  const said = one.verdict === "failed" ? "" : number(one.score);
  const open = one.whole
    ? make("a", { href: `#response=${one.id}`, class: "open" }, "Open in the form")
    : make("span", { class: "hint" }, "too long to store in full");
  return make("tr", {},
    make("td", { class: "when" }, new Date(one.time * 1000).toLocaleTimeString("en-GB")),
    make("td", { class: "break" }, one.data_source),
    make("td", {}, said, " ", word ? make("span", { class: `badge ${colour}` }, word) : null),
    make("td", { class: "break" }, short(one.extracted, 80) || "–"),
    make("td", { class: "break why" }, short(one.detail, 200) || "–"),
    make("td", { class: "text" }, make("pre", {}, one.response), open));
}
