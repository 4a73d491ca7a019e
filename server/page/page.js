// Everything the page does. Text from a response goes in as text (textContent), never as HTML.
"use strict";

const $ = (id) => document.getElementById(id);
let rewards = [];

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function draw(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

async function ask(path, body) {
  const token = $("token").value || sessionStorage.getItem("token") || "";
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const answer = await fetch(path, {
    method: body === undefined ? "GET" : "POST",
    headers: { ...headers, ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (answer.status === 401) {
    $("token-form").hidden = false;
    throw new Error("This server wants a token; put it in the field above.");
  }
  sessionStorage.setItem("token", token);
  const data = await answer.json();
  if (!answer.ok) throw new Error(data.error?.message || `The server answered ${answer.status}.`);
  return data;
}

// --- scoring -------------------------------------------------------------------------------------------

async function start() {
  try {
    const [known, examples] = await Promise.all([ask("rewards"), ask("examples")]);
    rewards = known;
    const names = known.flatMap((reward) => [...reward.data_sources, ...reward.aliases]);
    $("sources").replaceChildren(...names.map((name) => make("option", { value: name })));
    $("example").replaceChildren(
      $("example").options[0],
      ...examples.map((example, i) => make("option", { value: i }, example.title)),
    );
    $("example").onchange = () => fill(examples[$("example").value]);
  } catch (error) {
    show(make("p", { class: "error" }, error.message));
  }
}

function fill(example) {
  if (!example) return;
  $("source").value = example.data_source;
  $("response").value = example.response;
  $("truth").value = example.ground_truth;
  describe();
}

function describe() {
  const name = $("source").value;
  const found = rewards.find((r) => r.name === name || [...r.data_sources, ...r.aliases].includes(name));
  $("summary").textContent = found ? found.summary : "";
}

async function score(event) {
  event.preventDefault();
  const sample = { data_source: $("source").value, response: $("response").value, ground_truth: $("truth").value };
  $("go").disabled = true;
  try {
    const [scored, explained] = await Promise.all([
      ask("score", sample),
      ask("explain", sample).catch((error) => ({ problem: error.message })),
    ]);
    show(...resultOf(sample, scored, explained));
  } catch (error) {
    show(make("p", { class: "error" }, error.message));
  } finally {
    $("go").disabled = false;
  }
}

function show(...content) {
  $("result").replaceChildren(...content);
  $("result").hidden = false;
  $("result").scrollIntoView({ block: "nearest" });
}

function resultOf(sample, scored, explained) {
  return [
    make("div", { class: "verdict" },
      make("span", { class: "score" }, scored.status === "ok" ? number(scored.score) : "–"),
      badge(scored),
      make("span", { class: "hint" }, `${scored.scorer || "no reward"}, ${(scored.seconds * 1000).toFixed(1)} ms`)),
    facts(scored),
    ...testsOf(explained.fields?.tests),
    ...treeOf(explained.fields?.members),
    make("h2", {}, scored.extracted === null ? "Response" : "Response, with what was taken to be the answer"),
    make("pre", { id: "highlighted" }, ...highlighted(sample.response, scored.extracted)),
    ...(explained.text && !explained.fields?.tests && !explained.fields?.members
      ? [make("h2", {}, "How it was scored"), make("pre", { id: "explanation" }, explained.text)]
      : []),
  ];
}

function badge(scored) {
  if (scored.status !== "ok") return make("span", { class: "badge unsure" }, `not scored: ${scored.status}`);
  if (scored.correct === null) return null;
  return make("span", { class: `badge ${scored.correct ? "good" : "bad"}` }, scored.correct ? "correct" : "wrong");
}

function facts(scored) {
  const rows = [["why", scored.detail], ["extracted", scored.extracted?.trimEnd() ?? null],
    ...Object.entries(scored.parts).map(([name, value]) => [name, number(value)])];
  const list = make("dl", {});
  for (const [name, value] of rows) {
    if (value !== null) list.append(make("dt", {}, name), make("dd", {}, short(value)));
  }
  return list;
}

function highlighted(response, extracted) {
  const at = extracted ? response.lastIndexOf(extracted) : -1;
  if (at < 0) return [response];
  return [response.slice(0, at), make("mark", {}, extracted), response.slice(at + extracted.length)];
}

// The tree of a composition: each item under the one that it belongs to, with its score where it was asked.
function treeOf(members) {
  if (!members) return [];
  const top = make("ul", { id: "tree" });
  const lists = [top];
  for (const { depth, role, label, score, asked } of members) {
    const item = make("li", { class: asked ? "" : "hint" },
      role ? make("span", { class: "hint" }, `${role} `) : null, label,
      score === null ? null : make("span", { class: "value" }, number(score)),
      asked ? null : make("span", { class: "value" }, "not asked"));
    const below = make("ul", {});
    item.append(below);
    lists[depth].append(item);
    lists.splice(depth + 1, lists.length, below);
  }
  return [make("h2", {}, "How it was composed"), top];
}

function testsOf(tests) {
  if (!tests) return [];
  const boxes = tests.map((test, i) => {
    const head = make("summary", {},
      make("span", { class: `badge ${test.passed ? "good" : "bad"}` }, test.passed ? "passed" : test.status),
      ` test ${i + 1}`);
    const body = make("div", {});
    if (test.given) body.append(make("h3", { class: "hint" }, "input"), make("pre", {}, test.given));
    if (test.expected || test.got) body.append(diff(test.expected, test.got));
    else if (test.reason) body.append(make("p", { class: "hint" }, test.reason));
    const box = make("details", { class: "test" }, head, body);
    box.open = !test.passed && tests.slice(0, i).every((earlier) => earlier.passed);
    return box;
  });
  return [make("h2", {}, `Tests: ${tests.filter((t) => t.passed).length} of ${tests.length} passed`), ...boxes];
}

function diff(expected, got) {
  const [left, right] = [expected, got].map((text) => text.replace(/\n$/, "").split("\n").slice(0, 200));
  const common = lengths(left, right);
  const [wanted, found] = [make("pre", {}), make("pre", {})];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      wanted.append(make("span", {}, left[i++]));
      found.append(make("span", {}, right[j++]));
    } else if (j >= right.length || (i < left.length && common[i + 1][j] >= common[i][j + 1])) {
      wanted.append(make("ins", {}, left[i++] || " "));
    } else {
      found.append(make("del", {}, right[j++] || " "));
    }
  }
  return make("div", { class: "diff" },
    make("div", {}, make("h3", {}, "expected"), wanted), make("div", {}, make("h3", {}, "got"), found));
}

// Lengths of the longest common subsequences of the two lists' ends.
function lengths(left, right) {
  const table = Array.from({ length: left.length + 1 }, () => new Array(right.length + 1).fill(0));
  for (let i = left.length - 1; i >= 0; i--)
    for (let j = right.length - 1; j >= 0; j--)
      table[i][j] = left[i] === right[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
  return table;
}

const number = (value) => String(Math.round(value * 1e4) / 1e4);
const short = (text) => (text.length > 500 ? `${text.slice(0, 500)}…` : text);

// --- recent traffic ------------------------------------------------------------------------------------

async function watch() {
  if ($("traffic").hidden || document.hidden) return;
  try {
    const seen = await ask("traffic");
    const sources = Object.entries(seen.sources);
    $("quiet").hidden = sources.length > 0;
    $("rates").hidden = !sources.length;
    $("failures").hidden = !seen.failures.length;
    $("rates").tBodies[0].replaceChildren(...sources.map(rateRow));
    $("failures").tBodies[0].replaceChildren(...seen.failures.map(failureRow));
  } catch (error) {
    $("quiet").textContent = error.message;
    $("quiet").hidden = false;
  }
}

function rateRow([name, source]) {
  const last = source.per_second.slice(-10).reduce((a, b) => a + b, 0) / 10;
  return make("tr", {},
    make("td", {}, name),
    make("td", {}, sparkline(source.per_second), `${number(last)} a second now`),
    make("td", { class: "number" }, source.total.toLocaleString("en")),
    make("td", { class: "number" }, source.mean === null ? "–" : source.mean.toFixed(3)),
    make("td", { class: "number" }, source.correct === null ? "–" : `${(100 * source.correct).toFixed(1)} %`),
    make("td", { class: "number" }, source.failed.toLocaleString("en")),
    make("td", {}, histogram(source.scores)));
}

function failureRow(failure) {
  return make("tr", {},
    make("td", {}, new Date(failure.time * 1000).toLocaleTimeString()),
    make("td", {}, failure.data_source),
    make("td", {}, make("span", { class: "badge unsure" }, failure.status)),
    make("td", {}, failure.detail),
    make("td", {}, make("pre", {}, failure.response)));
}

function sparkline(values) {
  const [width, height, top] = [240, 32, Math.max(1, ...values)];
  const points = values.map((v, i) => `L${(i * width) / values.length},${height - (v / top) * (height - 2)}`);
  return draw("svg", { width, height, role: "img", "aria-label": `at most ${top} a second` },
    draw("path", { d: `M0,${height}${points.join("")}L${width},${height}Z` }));
}

function histogram(scores) {
  if (!scores.length) return "–";
  const [width, height] = [160, 32];
  const [low, high] = [Math.min(0, scores[0][0]), Math.max(1, scores.at(-1)[0])];
  const top = Math.max(...scores.map(([, count]) => count));
  const bars = scores.map(([value, count]) => draw("rect", {
    x: ((value - low) / (high - low)) * (width - 8), width: 7,
    y: height - Math.max(2, (count / top) * height), height: Math.max(2, (count / top) * height),
  }, draw("title", {}, `${number(value)}: ${count}`)));
  const label = scores.map(([value, count]) => `${number(value)}: ${count}`).join(", ");
  return draw("svg", { width, height, role: "img", "aria-label": label }, ...bars);
}

// --- tabs, keys ----------------------------------------------------------------------------------------

function choose(tab) {
  for (const other of document.querySelectorAll("[role=tab]")) {
    const chosen = other === tab;
    other.setAttribute("aria-selected", chosen);
    other.tabIndex = chosen ? 0 : -1;
    $(other.getAttribute("aria-controls")).hidden = !chosen;
  }
  tab.focus();
  watch();
}

for (const tab of document.querySelectorAll("[role=tab]")) {
  tab.onclick = () => choose(tab);
  tab.onkeydown = (event) => {
    if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
    choose(tab.nextElementSibling || tab.previousElementSibling);
  };
}
$("form").onsubmit = score;
$("source").oninput = describe;
$("token-form").onsubmit = (event) => {
  event.preventDefault();
  start();
};
document.onkeydown = (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !$("try").hidden) $("form").requestSubmit();
};
setInterval(watch, 2000);
start();
