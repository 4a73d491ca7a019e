// The page at /: its tabs, its address, the token. form.js and traffic.js fill the tabs.

import { $, TokenWanted, ask, onToken } from "./common.js";
import { fillWith, offer, score, shared, show, problemLine, watchForm } from "./form.js";
import { refresh, watchFilters } from "./traffic.js";

let ready = false;

async function start() {
  try {
    const [rewards, examples] = await Promise.all([ask("rewards"), ask("examples")]);
    offer(rewards, examples);
    if (ready) $("result").hidden = true; // what it said was before the token
    ready = true;
    await follow();
  } catch (error) {
    if (!(error instanceof TokenWanted)) show(problemLine(error));
  }
}

// Show the tab that the address names, or show a recent response in the form.
async function follow() {
  const [name, id] = location.hash.slice(1).split("=");
  if (name === "traffic") return choose($("tab-traffic"));
  choose($("tab-try"));
  if (!id) return;
  try {
    // A shared sample is not scored automatically, because opening a link must not run a program.
    if (name === "sample") return fillWith(shared(id));
    if (name !== "response") return;
    fillWith(await ask(`traffic/responses/${encodeURIComponent(id)}`));
    await score();
  } catch (error) {
    show(problemLine(error));
  }
}

function choose(tab) {
  for (const other of document.querySelectorAll("[role=tab]")) {
    const chosen = other === tab;
    other.setAttribute("aria-selected", chosen);
    other.tabIndex = chosen ? 0 : -1;
    $(other.getAttribute("aria-controls")).hidden = !chosen;
  }
  refresh();
}

function chosenByHand(tab) {
  history.replaceState(null, "", tab.id === "tab-traffic" ? "#traffic" : location.pathname);
  choose(tab);
  tab.focus();
}

for (const tab of document.querySelectorAll("[role=tab]")) {
  tab.onclick = () => chosenByHand(tab);
  tab.onkeydown = (event) => {
    if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
    chosenByHand(tab.nextElementSibling || tab.previousElementSibling);
  };
}
onToken(start);
watchForm();
watchFilters();
window.onhashchange = follow;
setInterval(refresh, 2000);
start();
