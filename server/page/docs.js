// The page at /docs, built from openapi.json. Each route has its paths, an example, and a button to send it.

import { $, TokenWanted, ask, make, onToken, send } from "./common.js";

const OWN = "rewardkit"; // group of the routes that belong to no trainer

async function start() {
  try {
    const described = await ask("openapi.json");
    $("version").textContent = described.info.version;
    $("problem").textContent = "";
    const groups = groupsOf(described.paths);
    $("routes").replaceChildren(...groups.map(groupBox));
    const trainers = groups.map((group) => group.name).filter((name) => ![OWN, "Probes"].includes(name));
    $("trainer").replaceChildren($("trainer").options[0], ...trainers.toSorted().map((name) => make("option", {}, name)));
    filter();
    openNamed();
  } catch (error) {
    $("problem").textContent = error instanceof TokenWanted ? "" : error.message;
  }
}

// Operations that differ only in their path are merged, and listed in the group of their first tag.
function groupsOf(paths) {
  const groups = new Map();
  for (const [path, operations] of Object.entries(paths))
    for (const [method, operation] of Object.entries(operations)) {
      const name = operation.tags?.[0] ?? OWN;
      if (!groups.has(name)) groups.set(name, new Map());
      const key = `${method} ${operation.summary}`;
      const same = groups.get(name).get(key) ?? { method: method.toUpperCase(), operation, paths: [] };
      same.paths.push({ path, parameters: operation.parameters ?? [] });
      groups.get(name).set(key, same);
    }
  return [...groups].map(([name, operations]) => ({ name, operations: [...operations.values()] }));
}

function groupBox({ name, operations }) {
  return make("section", { class: "group" }, make("h2", {}, name), ...operations.map(operationBox));
}

function operationBox({ method, operation, paths }) {
  const more = paths.length > 1 ? make("span", { class: "hint" }, `and ${paths.length - 1} more`) : null;
  const head = make("summary", {},
    make("span", { class: `method ${method.toLowerCase()}` }, method), make("code", {}, paths[0].path), more,
    make("span", { class: "said" }, operation.summary));
  const box = make("details", { class: "operation" }, head);
  box.dataset.names = paths.map((one) => `${method}${one.path}`).join(" ");
  box.dataset.words = `${method} ${paths.map((one) => one.path).join(" ")} ${operation.summary}`.toLowerCase();
  box.addEventListener("toggle", () => {
    if (box.open && box.childElementCount === 1) box.append(trial(method, operation, paths));
  });
  return box;
}

function exampleOf(operation) {
  const content = operation.requestBody?.content["application/json"];
  return content ? JSON.stringify(content.example ?? {}, null, 2) : undefined;
}

function trial(method, operation, paths) {
  const path = make("select", {}, ...paths.map((one) => make("option", {}, one.path)));
  path.value = (paths.find((one) => one.path.includes("{data_source}")) ?? paths[0]).path; // says it all by itself
  const fields = make("div", { class: "row" });
  const example = exampleOf(operation);
  const body = make("textarea", { rows: Math.min(16, (example ?? "").split("\n").length + 1), spellcheck: "false" });
  body.value = example ?? "";
  const answer = make("div", { class: "answer", "aria-live": "polite" });
  const command = make("pre", { class: "curl" });
  const asked = () => request(method, path.value, fields, example === undefined ? undefined : body.value);
  const retell = () => (command.textContent = curl(asked()));
  const choosePath = () => {
    const { parameters } = paths.find((one) => one.path === path.value);
    fields.replaceChildren(...parameters.map(parameterField));
    retell();
  };
  const form = make("form", { class: "trial" },
    operation.description ? make("p", {}, operation.description) : null,
    paths.length > 1 ? make("label", {}, "Path", path) : null,
    fields,
    example === undefined ? null : make("label", {}, "Body", body),
    make("div", { class: "row end" }, make("button", { type: "submit" }, "Send")),
    answer,
    make("details", { class: "folded" }, make("summary", {}, "curl command"), make("div", {}, command)));
  form.oninput = retell;
  path.onchange = choosePath;
  form.onsubmit = (event) => {
    event.preventDefault();
    tell(answer, asked());
  };
  choosePath();
  return form;
}

function parameterField({ name, in: place, required, example, description }) {
  const input = make("input", { name, "data-in": place, spellcheck: "false", autocomplete: "off" });
  input.value = example ?? "";
  if (required) input.required = true;
  return make("label", {}, name, description ? make("span", { class: "hint" }, ` ${description}`) : null, input);
}

function request(method, template, fields, body) {
  let path = template;
  const query = new URLSearchParams(), headers = {};
  for (const input of fields.querySelectorAll("input"))
    if (input.dataset.in === "path") path = path.replace(new RegExp(`\\{${input.name}(:path)?\\}`), input.value.split("/").map(encodeURIComponent).join("/"));
    else if (input.value && input.dataset.in === "header") headers[input.name] = input.value;
    else if (input.value) query.append(input.name, input.value);
  return { method, path: path.slice(1) + (query.size ? `?${query}` : ""), headers, body: body?.trim() ? body : undefined };
}

async function tell(answer, { method, path, headers, body }) {
  const began = performance.now();
  answer.replaceChildren(make("p", { class: "hint" }, "sending…"));
  try {
    // Browsers send no body with GET.
    if (method === "GET" && body !== undefined) throw new Error("Browsers cannot send a GET request with a body. Use the curl command below.");
    const got = await send(method, path, body, headers);
    const text = await got.text();
    const colour = got.ok ? "good" : "bad";
    answer.replaceChildren(
      make("p", {}, make("span", { class: `badge ${colour}` }, String(got.status)),
        make("span", { class: "hint" }, ` ${Math.round(performance.now() - began)} ms, ${got.headers.get("content-type") ?? "no body"}`)),
      make("pre", {}, pretty(text)));
  } catch (error) {
    answer.replaceChildren(make("p", { class: "error" }, error.message));
  }
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text.length > 20_000 ? `${text.slice(0, 20_000)}\n… ${text.length.toLocaleString("en")} characters in total` : text;
  }
}

function curl({ method, path, headers, body }) {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const words = ["curl", ...(method === (body === undefined ? "GET" : "POST") ? [] : ["-X", method]), quoted(new URL(path, document.baseURI).href)];
  if (!$("token-form").hidden || sessionStorage.getItem("token")) words.push("-H", '"Authorization: Bearer $TOKEN"');
  for (const [name, value] of Object.entries(headers)) words.push("-H", quoted(`${name}: ${value}`));
  if (body !== undefined) words.push("-H", "'Content-Type: application/json'", "\\\n  -d", quoted(compact(body)));
  return words.join(" ");
}

function compact(body) {
  try {
    return JSON.stringify(JSON.parse(body));
  } catch {
    return body;
  }
}

function filter() {
  const wanted = $("find").value.toLowerCase().trim();
  for (const group of document.querySelectorAll(".group")) {
    const boxes = [...group.querySelectorAll(".operation")];
    const asked = !$("trainer").value || group.firstChild.textContent === $("trainer").value;
    for (const box of boxes) box.hidden = !asked || !box.dataset.words.includes(wanted);
    group.hidden = boxes.every((box) => box.hidden);
  }
}

// A link to `/docs#POST/score` opens that route.
function openNamed() {
  const wanted = decodeURIComponent(location.hash.slice(1));
  const named = [...document.querySelectorAll(".operation")].find((box) => box.dataset.names.split(" ").includes(wanted));
  if (!named) return;
  $("trainer").value = "";
  filter();
  named.open = true;
  named.scrollIntoView();
}

onToken(start);
$("find").oninput = $("trainer").onchange = filter;
window.onhashchange = openNamed;
start();
