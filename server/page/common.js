// Code shared by the pages. Text from a response is inserted as text (textContent), never as HTML.

export const $ = (id) => document.getElementById(id);

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function draw(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const number = (value) => String(Math.round(value * 1e4) / 1e4);
export const short = (text, most = 500) => (text.length > most ? `${text.slice(0, most)}…` : text);

// --- requests and the token ----------------------------------------------------------------------------

export class TokenWanted extends Error {}

let token = sessionStorage.getItem("token") || "";

// Send a request and return the response with any status, or throw an error if the token is missing or wrong.
export async function send(method, path, body, further = {}) {
  const headers = { ...further, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await reached(path, { method, headers, body });
  if (answer.status === 401) {
    const problem = token ? "This token is not valid." : "This server requires a token.";
    $("token-form").hidden = false;
    $("token-problem").textContent = problem;
    $("token").setAttribute("aria-invalid", token !== "");
    throw new TokenWanted(problem);
  }
  if (token) sessionStorage.setItem("token", token);
  $("token-problem").textContent = "";
  $("token-form").hidden = true;
  return answer;
}

async function reached(path, options) {
  try {
    return await fetch(path, options);
  } catch {
    throw new Error("Cannot reach the server. Check that it is running, and try again.");
  }
}

// Send a request and return the value in the response, or throw the server's error message.
export async function ask(path, body) {
  const method = body === undefined ? "GET" : "POST";
  const answer = await send(method, path, body === undefined ? undefined : JSON.stringify(body));
  const data = await answer.json();
  if (!answer.ok) throw new Error(data.error?.message || `The server answered ${answer.status}.`);
  return data;
}

// Call `then` with each token that the user enters.
export function onToken(then) {
  $("token-form").onsubmit = (event) => {
    event.preventDefault();
    token = $("token").value;
    then();
  };
}
