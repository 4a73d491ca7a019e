// What both pages share: their data, a prompt and a response as text, and the values of a chart under the pointer.
"use strict";
const $ = (id) => document.getElementById(id);
const about = JSON.parse($("about").textContent);
const written = (value) => String(+value.toPrecision(4));

async function unpack(id) {
  const text = $(id).textContent;
  const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text)
    : Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// --- a prompt and a response ------------------------------------------------------------------------------

function turnOf(role, fillIn) {
  const turn = element("div", undefined, "turn"), box = element("pre");
  fillIn(box);
  turn.append(element("b", role), box);
  return turn;
}

function promptTurns(prompt) {
  const turns = Array.isArray(prompt) ? prompt : prompt ? [{ role: "prompt", content: prompt }] : [];
  const parts = (content) => (Array.isArray(content) ? content : [{ text: String(content ?? "") }]);
  return turns.map((turn) => turnOf(turn.role, (box) => {
    let text = "";
    for (const part of parts(turn.content)) {
      if (!String(part?.image).startsWith("data:image/")) { text += part?.text ?? ""; continue; }
      withMaths(box, text);
      text = "";
      box.append(thumbnail(part));
    }
    withMaths(box, text);
  }));
}
function thumbnail(part) {
  const shown = element("img", undefined, "picture");
  shown.src = part.image;
  shown.alt = part.text;
  return shown;
}

function responseTurns(response, extracted) {
  const turns = [turnOf("response, source text", (box) => marked(box, response, extracted))];
  if (response.search(MATHS) >= 0) turns.push(turnOf("response with rendered maths", (box) => withMaths(box, response)));
  return turns;
}

function marked(target, text, extracted) {
  const at = extracted ? text.lastIndexOf(extracted) : -1;
  if (at < 0) { target.append(text); return; }
  target.append(text.slice(0, at), element("mark", extracted), text.slice(at + extracted.length));
}

// --- values under the pointer -----------------------------------------------------------------------------

function nearest(points, x) {
  return points.reduce((best, one) => (Math.abs(one[0] - x) < Math.abs(best[0] - x) ? one : best));
}

function follow(figure) {
  const svg = figure.querySelector("svg"), lines = Object.entries(JSON.parse(figure.dataset.points));
  const first = +figure.dataset.first, length = +figure.dataset.last - first || 1;
  const cursor = document.createElementNS("http://www.w3.org/2000/svg", "line");
  const grid = [...svg.querySelectorAll(".grid")];
  const [left, right, bottom, top] = [grid[0].x1, grid[0].x2, grid[0].y1, grid.at(-1).y1].map((one) => one.baseVal.value);
  const set = (values) => Object.entries(values).forEach(([name, value]) => cursor.setAttribute(name, value));
  set({ class: "cursor", y1: top, y2: bottom, visibility: "hidden" });
  svg.append(cursor);
  const show = (event) => {
    const box = svg.getBoundingClientRect();
    const across = (((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width - left) / (right - left);
    const wanted = first + Math.max(0, Math.min(1, across)) * length;
    const [x, , name] = nearest(lines.map(([, points]) => nearest(points, wanted)), wanted);
    const at = left + ((x - first) / length) * (right - left);
    set({ x1: at, x2: at, visibility: "visible" });
    const values = lines.map(([line, points]) => [line, nearest(points, x)]).filter(([, one]) => one[0] === x);
    tell(event, name ?? `step ${x}`, values.map(([line, one]) => `${line}: ${written(one[1])}`));
  };
  svg.addEventListener("pointerdown", show);
  svg.addEventListener("pointermove", show);
  svg.addEventListener("pointerleave", () => {
    $("tip").hidden = true;
    set({ visibility: "hidden" });
  });
}

function tell(event, name, values) {
  const tip = $("tip");
  tip.replaceChildren(element("b", name), ...values.map((one) => element("div", one)));
  tip.hidden = false;
  const over = event.clientX + 16 + tip.offsetWidth > innerWidth;
  tip.style.left = `${Math.max(4, over ? event.clientX - 16 - tip.offsetWidth : event.clientX + 16)}px`;
  tip.style.top = `${Math.max(4, Math.min(innerHeight - tip.offsetHeight - 4, event.clientY + 12))}px`;
}

document.querySelectorAll(".chart").forEach(follow);

