// The page of a run: values under the pointer, responses by step, and a look for a newer page while it runs.
"use strict";
const $ = (id) => document.getElementById(id);
const about = JSON.parse($("about").textContent);
const REFRESH_S = 6;
let samples = [];

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

async function unpack(id) {
  const bytes = Uint8Array.from(atob($(id).textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// --- values under the pointer ---------------------------------------------------------------------------

const LEFT = 46, RIGHT = 8, WIDTH = 420; // as in curves.py
const written = (value) => String(+value.toPrecision(4));

function nearest(points, step) {
  return points.reduce((best, one) => (Math.abs(one[0] - step) < Math.abs(best[0] - step) ? one : best));
}

function follow(figure) {
  const svg = figure.querySelector("svg"), lines = Object.entries(JSON.parse(figure.dataset.points));
  const [first, last] = [+figure.dataset.first, +figure.dataset.last];
  const cursor = document.createElementNS("http://www.w3.org/2000/svg", "line");
  for (const [name, value] of Object.entries({ class: "cursor", y1: 10, y2: 160, visibility: "hidden" })) cursor.setAttribute(name, value);
  svg.append(cursor);
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const across = (((event.clientX - box.left) / box.width) * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT);
    const wanted = first + Math.max(0, Math.min(1, across)) * (last - first);
    const step = nearest(lines.map(([, points]) => nearest(points, wanted)), wanted)[0];
    const x = LEFT + ((step - first) / (last - first || 1)) * (WIDTH - LEFT - RIGHT);
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    cursor.setAttribute("visibility", "visible");
    const rows = lines.map(([name, points]) => [name, nearest(points, step)]).filter(([, one]) => one[0] === step);
    $("tip").replaceChildren(element("b", `step ${step}`), ...rows.map(([name, one]) => element("div", `${name}: ${written(one[1])}`)));
    $("tip").hidden = false;
    const over = event.clientX + 16 + $("tip").offsetWidth > innerWidth;
    $("tip").style.left = `${Math.max(4, over ? event.clientX - 16 - $("tip").offsetWidth : event.clientX + 16)}px`;
    $("tip").style.top = `${Math.min(innerHeight - $("tip").offsetHeight - 4, event.clientY + 12)}px`;
  });
  svg.addEventListener("pointerleave", () => {
    $("tip").hidden = true;
    cursor.setAttribute("visibility", "hidden");
  });
}

// --- responses ------------------------------------------------------------------------------------------

function marked(target, text, extracted) {
  const at = extracted ? text.lastIndexOf(extracted) : -1;
  if (at < 0) { target.append(text); return; }
  target.append(text.slice(0, at), element("mark", extracted), text.slice(at + extracted.length));
}

function turnOf(role, fillIn) {
  const turn = element("div", undefined, "turn"), box = element("pre");
  fillIn(box);
  turn.append(element("b", role), box);
  return turn;
}

function responseBox(row) {
  const box = element("article", undefined, "response"), head = element("div", undefined, "head");
  const right = row.correct === true ? "right" : row.correct === false ? "wrong" : "";
  head.append(
    element("span", row.status === "ok" ? `${written(row.score)} ${right}` : `not scored: ${row.status}`, row.status === "ok" ? right : "failed"),
    element("small", row.data_source));
  if (row.detail) head.append(element("small", row.detail));
  const parts = Object.entries(row.parts ?? {}).map(([name, value]) => `${name} ${written(value)}`).join(", ");
  if (parts) head.append(element("small", parts));
  box.append(head);
  const prompt = Array.isArray(row.prompt) ? row.prompt : [{ role: "prompt", content: row.prompt ?? "" }];
  for (const turn of prompt) box.append(turnOf(turn.role, (place) => withMaths(place, String(turn.content))));
  box.append(turnOf("response", (place) => marked(place, row.response, row.extracted)));
  if (row.response.search(MATHS) >= 0) box.append(turnOf("response, its maths set", (place) => withMaths(place, row.response)));
  if (row.ground_truth) box.append(turnOf("ground truth", (place) => place.append(row.ground_truth.slice(0, 2000))));
  return box;
}

// A long text is a box to scroll in, at what was extracted of it; a button shows it whole.
function keepLow(box) {
  if (box.scrollHeight <= box.clientHeight) return;
  const mark = box.querySelector("mark"), all = element("button", "show all", "all");
  box.tabIndex = 0;
  if (mark) box.scrollTop = mark.offsetTop - box.clientHeight / 2;
  all.type = "button";
  all.onclick = () => {
    box.classList.add("whole");
    all.remove();
  };
  box.after(all);
}

function showStep(i) {
  $("step").value = i;
  $("back").disabled = i <= 0;
  $("on").disabled = i >= samples.length - 1;
  $("shown").replaceChildren(...samples[i].rows.map(responseBox));
  document.querySelectorAll(".response pre").forEach(keepLow);
  const at = i === samples.length - 1 ? "" : `#step=${samples[i].step}${samples[i].kind ? "v" : ""}`;
  history.replaceState(null, "", at || location.pathname + location.search);
}

async function responses() {
  samples = (await unpack("samples")).filter((one) => one.rows.length);
  if (!samples.length) return;
  samples.forEach((one, i) => $("step").append(new Option(one.kind ? `${one.step}, ${one.kind}` : one.step, i)));
  $("step").onchange = () => showStep(+$("step").value);
  $("back").onclick = () => showStep(+$("step").value - 1);
  $("on").onclick = () => showStep(+$("step").value + 1);
  $("pick").onsubmit = (event) => event.preventDefault();
  const wanted = location.hash.match(/^#step=(\d+)(v?)$/);
  const found = wanted ? samples.findIndex((one) => one.step === +wanted[1] && Boolean(one.kind) === Boolean(wanted[2])) : -1;
  showStep(found < 0 ? samples.length - 1 : found);
}

// --- while it runs --------------------------------------------------------------------------------------

// A file cannot be asked whether it is new, so it is loaded anew; place, step and what is open stay.
function keepFresh() {
  const said = $("news").querySelector("small");
  const tell = () => {
    const age = Math.max(0, Math.round(Date.now() / 1000 - about.written));
    const ago = age < 90 ? `${age} s` : age < 5400 ? `${Math.round(age / 60)} min` : `${Math.round(age / 3600)} h`;
    const when = new Date(about.written * 1000).toLocaleString();
    said.textContent = about.running ? `written ${ago} ago, at step ${about.last}` : `written ${when}; not running`;
  };
  tell();
  if (!about.running) return;
  const box = $("follow").querySelector("input");
  $("follow").hidden = false;
  box.checked = sessionStorage.getItem("follow") !== "no";
  box.onchange = () => sessionStorage.setItem("follow", box.checked ? "yes" : "no");
  setInterval(tell, 1000);
  setInterval(() => box.checked && !document.hidden && getSelection().isCollapsed && location.reload(), 1000 * REFRESH_S);
}

$("further").open = sessionStorage.getItem("further") === "open";
$("further").ontoggle = () => sessionStorage.setItem("further", $("further").open ? "open" : "");
document.querySelectorAll(".curve").forEach(follow);
keepFresh();
responses().then(() => (document.body.dataset.ready = "yes"));
