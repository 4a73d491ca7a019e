// The form and the result: score, tests, composition tree, and response with the answer marked and maths rendered.

import { $, TokenWanted, ask, make, number, short } from "./common.js";

let rewards = [];

// --- the form ------------------------------------------------------------------------------------------

export function offer(known, examples) {
  rewards = known;
  const names = known.flatMap((reward) => reward.data_sources.map((value) => [value, reward.name]));
  $("sources").replaceChildren(...names.map(([value, label]) => make("option", { value, label })));
  $("example").replaceChildren(
    $("example").options[0],
    ...examples.map((example, i) => make("option", { value: i }, example.title)),
  );
  $("example").onchange = () => {
    const i = $("example").value;
    if (i) fillWith(examples[i], i);
  };
  browse();
  $("browse").hidden = false;
}

export function fillWith(sample, title = "") {
  $("example").value = title;
  const extra = Object.keys(sample.extra_info ?? {}).length ? JSON.stringify(sample.extra_info, null, 2) : "";
  const prompt = sample.prompt ?? "";
  $("source").value = sample.data_source ?? "";
  $("response").value = sample.response ?? "";
  $("truth").value = sample.ground_truth ?? "";
  $("prompt").value = typeof prompt === "string" ? prompt : JSON.stringify(prompt, null, 2);
  $("extra").value = extra;
  $("more").open = Boolean(extra || $("prompt").value);
  complainOfExtra("");
  describe();
}

// --- the list of rewards ---------------------------------------------------------------------------------

function browse() {
  const wanted = $("browse-text").value.trim().toLowerCase();
  const found = rewards.filter((reward) => [reward.name, reward.summary, ...reward.data_sources, ...reward.aliases]
    .some((text) => text.toLowerCase().includes(wanted)));
  $("browse-none").hidden = found.length > 0;
  $("browse-list").replaceChildren(...found.map((reward) => {
    const name = reward.data_sources.find((one) => !one.includes("*")) ?? reward.name;
    const button = make("button", { class: "plain", type: "button" }, name);
    button.onclick = () => {
      $("source").value = name;
      $("example").value = "";
      describe();
      $("response").focus();
    };
    return make("li", {}, button, make("span", { class: "hint" }, ` ${reward.summary}`));
  }));
}

// --- links to a sample -----------------------------------------------------------------------------------

const LONGEST_LINK = 8000; // characters that all browsers and most chats keep

// The sample that a link contains. Browsers do not send the part of an address after # to the server.
export function shared(text) {
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const sample = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof sample.data_source === "string") return sample;
  } catch {
    // The function throws an error below.
  }
  throw new Error("This link does not contain a sample.");
}

function linkTo(sample) {
  const bytes = new TextEncoder().encode(JSON.stringify(sample));
  const coded = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  const address = new URL(location.href);
  address.hash = `sample=${coded.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
  return address.href;
}

function shareButton(sample) {
  const button = make("button", { class: "plain share", type: "button" }, "Copy a link to this sample");
  button.onclick = async () => {
    const link = linkTo(sample);
    if (link.length > LONGEST_LINK) {
      button.replaceWith(make("span", { class: "hint" }, "This sample is too long for a link."));
      return;
    }
    history.replaceState(null, "", link);
    try {
      await navigator.clipboard.writeText(link);
      button.textContent = "Link copied";
    } catch {
      button.textContent = "The link is in the address bar";
    }
  };
  return button;
}

// Names may be globs in which only * is special.
function scores(reward, name) {
  return [...reward.data_sources, ...reward.aliases].some((known) => {
    const parts = known.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
    return new RegExp(`^${parts.join(".*")}$`).test(name);
  });
}

function describe() {
  const name = $("source").value;
  const exact = rewards.find((r) => [...r.data_sources, ...r.aliases].includes(name));
  const found = exact || rewards.find((reward) => name && scores(reward, name));
  const also = found ? [...found.data_sources, ...found.aliases].filter((other) => other !== name) : [];
  const others = also.length ? ` Also scores ${also.slice(0, 6).join(", ")}${also.length > 6 ? ` and ${also.length - 6} more` : ""}.` : "";
  $("summary").textContent = found ? `${found.scorer}: ${found.summary.replace(/\.?$/, ".")}${others}` : "";
}

function complainOfExtra(problem) {
  $("extra-problem").textContent = problem;
  $("extra").setAttribute("aria-invalid", problem !== "");
  if (problem) {
    $("more").open = true;
    $("extra").focus();
  }
}

// The sample in the form, or null if its extra_info cannot be parsed.
function sampleOf() {
  const sample = { data_source: $("source").value, response: $("response").value, ground_truth: $("truth").value };
  const prompt = $("prompt").value, extra = $("extra").value;
  if (prompt.trim()) sample.prompt = messagesIn(prompt) ?? prompt;
  complainOfExtra("");
  if (!extra.trim()) return sample;
  try {
    sample.extra_info = JSON.parse(extra);
  } catch (error) {
    complainOfExtra(`extra_info is not JSON: ${error.message}`);
    return null;
  }
  if (sample.extra_info?.constructor === Object) return sample;
  complainOfExtra('extra_info must be a JSON object, such as {"choices": ["4", "5"]}.');
  return null;
}

function messagesIn(text) {
  if (!text.trimStart().startsWith("[")) return null;
  try {
    const found = JSON.parse(text);
    return Array.isArray(found) && found.every((one) => one?.constructor === Object && "role" in one) ? found : null;
  } catch {
    return null;
  }
}

export async function score(event) {
  event?.preventDefault();
  const sample = sampleOf();
  if (!sample) return;
  $("go").disabled = true;
  try {
    const [scored, explained] = await Promise.all([
      ask("score", sample),
      ask("explain", sample).catch((error) => ({ problem: error.message })),
    ]);
    show(...resultOf(sample, scored, explained));
  } catch (error) {
    show(problemLine(error));
  } finally {
    $("go").disabled = false;
  }
}

export function problemLine(error) {
  const text = error instanceof TokenWanted ? `${error.message} Enter it in the field above.` : error.message;
  return make("p", { class: "error" }, text);
}

export function show(...content) {
  $("result").replaceChildren(...content);
  $("result").hidden = false;
  $("browse").hidden = true;
  $("result").scrollIntoView({ block: "nearest" });
}

export function watchForm() {
  $("form").onsubmit = score;
  $("source").oninput = describe;
  $("browse-text").oninput = browse;
  $("form").oninput = (event) => event.target === $("example") || ($("example").value = "");
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !$("try").hidden) $("form").requestSubmit();
  });
}

// --- the result ----------------------------------------------------------------------------------------

function resultOf(sample, scored, explained) {
  return [
    make("div", { class: "verdict" },
      make("span", { class: "score" }, scored.status === "ok" ? number(scored.score) : "–"),
      badge(scored),
      make("span", { class: "hint" }, `${scored.scorer || "no reward"}, ${(scored.seconds * 1000).toFixed(1)} ms`),
      shareButton(sample)),
    ...(explained.fields?.tests?.length && scored.status === "ok" ? [] : [facts(sample, scored)]), // the tests say it all
    ...testsOf(explained.fields?.tests),
    ...treeOf(explained.fields?.members),
    make("h2", {}, scored.extracted === null ? "Response" : "Response with the extracted answer highlighted"),
    make("pre", { id: "highlighted" }, ...highlighted(sample.response, scored.extracted)),
    ...mathsOf(sample),
    ...picturesOf(sample),
    ...(explained.text && !explained.fields?.tests && !explained.fields?.members
      ? [make("h2", {}, "How it was scored"), make("pre", { id: "explanation" }, explained.text)]
      : []),
    folded("Server response as JSON", make("pre", {}, JSON.stringify(scored, null, 2))),
  ];
}

export function badge(scored) {
  if (scored.status !== "ok") return make("span", { class: "badge unsure" }, `not scored: ${scored.status}`);
  if (scored.correct === null) return null;
  return make("span", { class: `badge ${scored.correct ? "good" : "bad"}` }, scored.correct ? "correct" : "wrong");
}

function facts(sample, scored) {
  const extracted = scored.extracted?.trimEnd() ?? null;
  const list = make("dl", {});
  const add = (name, ...content) => list.append(make("dt", {}, name), make("dd", {}, ...content));
  if (scored.detail !== null) add("why", short(scored.detail));
  if (extracted !== null) add("extracted", short(extracted), formula(extracted));
  if (formula(sample.ground_truth)) add("ground truth", short(sample.ground_truth), formula(sample.ground_truth));
  for (const [name, value] of Object.entries(scored.parts)) add(name, number(value));
  return list;
}

// Render a short text that is LaTeX. Return null for any other text.
function formula(text) {
  if (text.length > 300 || !/\\[a-zA-Z]|[\^_]/.test(text) || /[$`{]\s*[A-Za-z]{3,}\s/.test(text) || text.includes("\n")) return null;
  const place = make("span", { class: "formula" });
  return setMaths(place, text) ? place : null;
}

// The text in a message's content, which is a string or a list of parts.
function textOf(content) {
  return Array.isArray(content) ? content.map((part) => part?.text ?? "").join("") : String(content ?? "");
}

// The first pictures in the prompt. Only pictures that the messages themselves contain are shown.
function picturesOf(sample) {
  const contents = Array.isArray(sample.prompt) ? sample.prompt.map((message) => message?.content) : [];
  const parts = contents.flatMap((content) => (Array.isArray(content) ? content : []));
  const found = parts.map((part) => part?.image_url?.url ?? part?.image_url ?? part?.image)
    .filter((url) => typeof url === "string" && /^data:image\/(png|jpeg|webp|gif);base64,/.test(url));
  if (!found.length) return [];
  const shown = found.slice(0, 20).map((src, i) => make("img", { src, class: "picture", alt: `picture ${i + 1}` }));
  return [make("h2", {}, "Pictures of the prompt"), make("div", {}, ...shown)];
}

// Prompt and response with rendered maths, or nothing if they contain no maths.
function mathsOf(sample) {
  const prompt = Array.isArray(sample.prompt) ? sample.prompt.map((m) => textOf(m.content)).join("\n\n") : sample.prompt;
  const parts = [["Prompt with rendered maths", prompt], ["Response with rendered maths", sample.response]];
  return parts.flatMap(([title, text]) => {
    if (!text || text.search(MATHS) < 0) return [];
    const box = make("div", { class: "set" });
    withMaths(box, text);
    return [make("h2", {}, title), box];
  });
}

function highlighted(response, extracted) {
  const at = extracted ? response.lastIndexOf(extracted) : -1;
  if (at < 0) return [response];
  return [response.slice(0, at), make("mark", {}, extracted), response.slice(at + extracted.length)];
}

function folded(title, ...content) {
  return make("details", { class: "folded" }, make("summary", {}, title), make("div", {}, ...content));
}

// The tree of a composition. Each item is below its parent, with its score if the item was scored.
function treeOf(members) {
  if (!members) return [];
  const top = make("ul", { id: "tree" });
  const lists = [top];
  for (const { depth, role, label, score, asked } of members) {
    const item = make("li", { class: asked ? "" : "hint" },
      role ? make("span", { class: "hint" }, `${role} `) : null, label,
      score === null ? null : make("span", { class: "value" }, number(score)),
      asked ? null : make("span", { class: "value" }, "not evaluated"));
    const below = make("ul", {});
    item.append(below);
    lists[depth].append(item);
    lists.splice(depth + 1, lists.length, below);
  }
  return [make("h2", {}, "Composition"), top];
}

const COLOURS = { passed: "good", not_run: "unsure" };

function testsOf(tests) {
  if (!tests?.length) return [];
  const boxes = tests.map((test, i) => {
    const head = make("summary", {},
      make("span", { class: `badge ${COLOURS[test.status] || "bad"}` }, test.status.replaceAll("_", " ")),
      ` test ${i + 1}`);
    const body = make("div", {});
    if (test.status === "not_run") body.append(make("p", { class: "hint" }, test.reason));
    if (test.given) body.append(make("h3", { class: "hint" }, "input"), make("pre", {}, test.given));
    if (test.expected || test.got) body.append(diff(test.expected, test.got));
    else if (test.reason && test.status !== "not_run") body.append(make("p", { class: "hint" }, test.reason));
    if (!body.childNodes.length) body.append(make("p", { class: "hint" }, `passed in ${test.cpu_s.toFixed(2)} s of CPU time`));
    const box = make("details", { class: "test" }, head, body);
    box.open = !test.passed && tests.slice(0, i).every((earlier) => earlier.passed);
    return box;
  });
  const passed = tests.filter((test) => test.passed).length;
  const left = tests.filter((test) => test.status === "not_run").length;
  const title = `Tests: ${passed} of ${tests.length} passed${left ? `, ${left} not run` : ""}`;
  return [make("h2", { id: "tests" }, title), ...boxes];
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

// Lengths of the longest common subsequences of all suffixes of the two lists.
function lengths(left, right) {
  const table = Array.from({ length: left.length + 1 }, () => new Array(right.length + 1).fill(0));
  for (let i = left.length - 1; i >= 0; i--)
    for (let j = right.length - 1; j >= 0; j--)
      table[i][j] = left[i] === right[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
  return table;
}
