// Text with its maths as MathML, by Temml, which stands before this. Temml makes elements of what it reads;
// nothing of the text becomes markup otherwise. Lengths are bounded: a hostile text must not hold the browser.
"use strict";

// A dollar sign before a space, or with one or a digit after its partner, is money. A box is maths by itself.
const MATHS = /\$\$([^$]{1,4000})\$\$|\$(?!\s)([^$\n]{0,2000}[^$\s])\$(?!\d)|\\\(([^]{1,2000}?)\\\)|\\\[([^]{1,4000}?)\\\]|(\\boxed\{(?:[^{}\n]|\{(?:[^{}\n]|\{(?:[^{}\n]|\{[^{}\n]{0,100}\}){0,200}\}){0,200}\}){1,400}\})/g;
const MOST_FORMULAS = 400;

// Put a formula into an element; false, and nothing put there, where Temml cannot read it.
function setMaths(target, latex, displayMode = false) {
  const place = document.createElement("span");
  try {
    temml.render(latex, place, { displayMode, trust: false, maxExpand: 100, throwOnError: true });
  } catch {
    return false;
  }
  target.append(place);
  return true;
}

function withMaths(target, text) {
  let from = 0, left = MOST_FORMULAS;
  for (const found of text.matchAll(MATHS)) {
    if (left-- === 0) break;
    target.append(text.slice(from, found.index));
    const latex = found.slice(1).find((x) => x !== undefined);
    const display = found[0].startsWith("$$") || found[0].startsWith("\\[");
    if (!setMaths(target, latex, display)) target.append(found[0]);
    from = found.index + found[0].length;
  }
  target.append(text.slice(from));
}
