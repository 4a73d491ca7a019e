// The table of responses and one of them opened. Texts are inflated a block at a time, when they are shown.
const ROW = 28, BLOCK = 1000;
const cache = new Map();

function block(id) {
  if (!cache.has(id)) cache.set(id, unpack(id));
  return cache.get(id);
}
async function texts(row) { return (await block("t" + Math.floor(row / BLOCK)))[row % BLOCK]; }
async function prompt(number) { return (await block("p" + Math.floor(number / BLOCK)))[number % BLOCK]; }

let numbers, order = [], disagreement, shown = [], opened = -1;

// How far the scores of a prompt's responses are apart: their variance.
function spread() {
  const n = [], sum = [], squares = [];
  numbers.prompt.forEach((p, i) => {
    const s = numbers.score[i];
    if (s === null) return;
    n[p] = (n[p] || 0) + 1; sum[p] = (sum[p] || 0) + s; squares[p] = (squares[p] || 0) + s * s;
  });
  return numbers.prompt.map((p) => (n[p] ? squares[p] / n[p] - (sum[p] / n[p]) ** 2 : -1));
}

function fits(i, source, status) {
  if (source !== "" && numbers.source[i] !== +source) return false;
  if (status === "right") return numbers.correct[i] === 1;
  if (status === "wrong") return numbers.status[i] === 0 && numbers.correct[i] === 0;
  return status === "" || numbers.status[i] === +status;
}

let latest = 0;
async function refilter() {
  const mine = ++latest;
  const source = $("source").value, status = $("status").value, wanted = $("text").value.toLowerCase();
  let found = [];
  for (let i = 0; i < about.rows; i++) if (fits(i, source, status)) found.push(i);
  if (wanted) found = await containing(found, wanted, mine);
  if (mine !== latest) return;
  sort(found, $("order").value);
  order = found;
  $("count").textContent = `${found.length.toLocaleString("en")} of ${about.rows.toLocaleString("en")}`;
  $("spacer").style.height = order.length * ROW + "px";
  $("list").scrollTop = 0;
  draw();
}
async function containing(rows, wanted, mine) {
  const found = [];
  let last = -1;
  for (const i of rows) {
    const at = Math.floor(i / BLOCK);
    if (at !== last) {
      last = at;
      $("count").textContent = `searching, ${Math.round((100 * i) / about.rows)} %`;
      if (mine !== latest) return [];
    }
    const [response, extracted, detail] = await texts(i);
    if (`${response}\n${extracted ?? ""}\n${detail ?? ""}`.toLowerCase().includes(wanted)) found.push(i);
  }
  return found;
}
function sort(rows, by) {
  const keys = { score: numbers.score, length: numbers.length, disagreement };
  const name = by.replace("-", "");
  if (name === "row") return;
  const key = keys[name], sign = by.startsWith("-") || name === "disagreement" ? -1 : 1;
  rows.sort((a, b) => sign * ((key[a] ?? Infinity * sign) - (key[b] ?? Infinity * sign)) || a - b);
}

// About as many elements as fit are kept, and filled anew as the list is scrolled.
function draw() {
  const list = $("list"), first = Math.max(0, Math.floor(list.scrollTop / ROW) - 4);
  const n = Math.min(order.length - first, Math.ceil(list.clientHeight / ROW) + 8);
  while (shown.length < n) {
    const line = document.createElement("div");
    line.className = "line";
    for (let i = 0; i < 5; i++) line.append(document.createElement("span"));
    line.addEventListener("click", () => open(+line.dataset.row));
    list.append(line);
    shown.push(line);
  }
  shown.forEach((line, i) => {
    line.hidden = i >= n;
    line.style.display = i >= n ? "none" : "";
    if (i < n) fill(line, order[first + i], first + i);
  });
}
async function fill(line, row, place) {
  line.style.top = place * ROW + "px";
  line.classList.toggle("open", row === opened);
  const [number, source, score, answer, response] = line.children;
  line.dataset.row = row;
  number.textContent = row;
  source.textContent = about.sources[numbers.source[row]];
  const status = numbers.status[row], right = numbers.correct[row];
  score.textContent = status ? about.statuses[status] : numbers.score[row] + (right < 0 ? "" : right ? " right" : " wrong");
  score.className = status ? "failed" : right === 1 ? "right" : right === 0 ? "wrong" : "";
  answer.textContent = response.textContent = "";
  const [text, extracted] = await texts(row);
  if (+line.dataset.row !== row) return;
  answer.textContent = extracted ?? "-";
  response.textContent = text.slice(0, 300);
}

async function open(row) {
  opened = row;
  draw();
  const [response, extracted, detail, parts, turns] = await texts(row);
  const [question, truth] = await prompt(numbers.prompt[row]);
  const panel = $("detail");
  panel.replaceChildren();
  panel.hidden = false;
  panel.append(element("h2", `Row ${row}`));
  const status = about.statuses[numbers.status[row]];
  const facts = { "data source": about.sources[numbers.source[row]], status, score: numbers.score[row],
    answer: extracted, "ground truth": truth, why: detail, length: numbers.length[row],
    parts: parts && Object.entries(parts).map(([k, v]) => `${k} ${v}`).join(", ") };
  const list = element("dl");
  for (const [name, value] of Object.entries(facts))
    if (value !== null && value !== undefined && value !== "") list.append(element("dt", name), element("dd", String(value)));
  panel.append(list, siblings(row));
  panel.append(...promptTurns(question));
  for (const [heading, text, own] of turns || []) panel.append(own ? turnOf(heading, (box) => box.append(text)) : folded(heading, text));
  panel.append(...responseTurns(response, extracted));
  panel.scrollIntoView({ block: "nearest" });
}
function folded(heading, text) {
  const turn = element("details", undefined, "turn");
  turn.append(element("summary", `${heading} ${text.slice(0, 100)}`), element("pre", text));
  return turn;
}
function siblings(row) {
  const line = element("p", "", "siblings");
  const same = [];
  for (let i = 0; i < about.rows && same.length < 64; i++) if (numbers.prompt[i] === numbers.prompt[row]) same.push(i);
  if (same.length < 2) return line;
  line.append("all responses to this prompt: ");
  for (const i of same) {
    const button = element("button", `${i}: ${numbers.score[i] ?? about.statuses[numbers.status[i]]}`);
    button.disabled = i === row;
    button.addEventListener("click", () => open(i));
    line.append(button);
  }
  return line;
}

async function start() {
  about.sources.forEach((name, i) => $("source").append(new Option(name, i)));
  $("status").append(new Option("right", "right"), new Option("wrong", "wrong"));
  about.statuses.forEach((name, i) => { if (i) $("status").append(new Option(name, i)); });
  numbers = await unpack("numbers");
  disagreement = spread();
  for (const id of ["source", "status", "order"]) $(id).addEventListener("change", refilter);
  let timer;
  $("text").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(refilter, 200); });
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("list").addEventListener("scroll", draw);
  await refilter();
  document.body.dataset.ready = "yes";
}
start();
