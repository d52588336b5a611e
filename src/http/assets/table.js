import { announce } from "./enhance.js";
import { replacePart } from "./refresh.js";

const TYPING_PAUSE_MS = 250;

let timer;
let asking;

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("[data-table] thead a, [data-table] .pager a");
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  show(link.closest("[data-table]"), link.href);
});

document.addEventListener("submit", (event) => {
  if (!event.target.matches("[data-table] .filter")) return;
  event.preventDefault();
  filter(event.target);
});

document.addEventListener("input", (event) => {
  const form = event.target.closest?.("[data-table] .filter");
  if (!form) return;
  clearTimeout(timer);
  timer = setTimeout(() => filter(form), event.target.matches("select") ? 0 : TYPING_PAUSE_MS);
});

function filter(form) {
  clearTimeout(timer);
  // A wish that was taken back is not sent as an empty one, so that addresses stay short.
  const wishes = [...new FormData(form)].filter(([, value]) => value !== "");
  show(form.closest("[data-table]"), `${form.action}?${new URLSearchParams(wishes)}`);
}

/** Puts the table that the address shows in the place of this one. Only the last wish counts. */
async function show(table, address) {
  asking?.abort();
  asking = new AbortController();
  table.setAttribute("aria-busy", "true");
  try {
    const response = await fetch(address, { signal: asking.signal });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const next = page.getElementById(table.id);
    if (!response.ok || !next) throw new Error(`The server answered ${response.status}.`);
    replacePart(table, next);
    history.replaceState(history.state, "", address);
    announce(
      next.querySelector("[data-part=range]")?.textContent ?? next.querySelector(".table-empty")?.textContent ?? "",
    );
  } catch (error) {
    if (error.name === "AbortError") return;
    location.assign(address);
  }
}
