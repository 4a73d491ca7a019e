// The page of a run: responses by step, and a look for a newer page while it runs.
const REFRESH_S = 6;
let samples = [];

// --- responses ------------------------------------------------------------------------------------------

function responseBox(row) {
  const box = element("article", undefined, "response box"), head = element("div", undefined, "head");
  const right = row.correct === true ? "right" : row.correct === false ? "wrong" : "";
  head.append(
    element("span", row.status === "ok" ? `${written(row.score)} ${right}` : `not scored: ${row.status}`, row.status === "ok" ? right : "failed"),
    element("small", row.data_source));
  if (row.detail) head.append(element("small", row.detail));
  const parts = Object.entries(row.parts ?? {}).map(([name, value]) => `${name} ${written(value)}`).join(", ");
  if (parts) head.append(element("small", parts));
  box.append(head);
  box.append(...promptTurns(row.prompt), ...responseTurns(row.response, row.extracted));
  if (row.ground_truth) box.append(turnOf("ground truth", (place) => place.append(row.ground_truth.slice(0, 2000))));
  return box;
}

function reasonsBox(lines) {
  if (!lines.length) return [];
  const box = element("article", undefined, "box"), list = element("ul");
  list.append(...lines.map((line) => element("li", line)));
  box.append(element("small", "Most frequent reasons why responses of this step are not right:"), list);
  return [box];
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
  $("shown").replaceChildren(...reasonsBox(samples[i].reasons ?? []), ...samples[i].rows.map(responseBox));
  document.querySelectorAll(".response pre").forEach(keepLow);
  const at = i === samples.length - 1 ? "" : `#step=${samples[i].step}${samples[i].kind ? "v" : ""}`;
  history.replaceState(null, "", at || location.pathname + location.search);
}

async function responses() {
  samples = (await unpack("samples")).filter((one) => one.rows.length || one.reasons);
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
    said.textContent = about.running ? `updated ${ago} ago, at step ${about.last}` : `updated ${when}; the run is not active`;
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
keepFresh();
responses().then(() => (document.body.dataset.ready = "yes"));
