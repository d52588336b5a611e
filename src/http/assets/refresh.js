import { enhance } from "./enhance.js";

let turns = 0;

/**
 * Fetches this page again and takes over the parts that a job changes ([data-refresh], found by id). What people are
 * typing or choosing stays.
 */
export async function refresh() {
  const address = location.pathname + location.search;
  const turn = ++turns;
  const response = await fetch(address);
  const text = await response.text();
  // An answer that was overtaken by a later one, or by another wish, would put back what is over.
  if (!response.ok || turn !== turns || address !== location.pathname + location.search) return;
  const fresh = new DOMParser().parseFromString(text, "text/html");
  for (const part of document.querySelectorAll("[data-refresh]")) {
    const next = fresh.getElementById(part.id);
    if (next && !isBeingFilled(part)) replacePart(part, next);
  }
}

/** Puts a fresh piece of page in the place of an old one; focus, scrolling and opened details go over to it. */
export function replacePart(part, next) {
  const focused = part.contains(document.activeElement) ? document.activeElement : undefined;
  const scrolled = part.querySelector(".scroll-x")?.scrollLeft ?? 0;
  for (const opened of part.querySelectorAll("details[open][id]")) {
    next.querySelector(`#${CSS.escape(opened.id)}`)?.setAttribute("open", "");
  }
  enhance(next);
  part.replaceWith(next);
  const region = next.querySelector(".scroll-x");
  if (region) region.scrollLeft = scrolled;
  if (focused) focusHeir(focused, next);
}

function focusHeir(focused, next) {
  const heir = (focused.id && document.getElementById(focused.id)) || next.querySelector("a, button, input");
  if (heir?.matches("input") && focused.matches("input[type=search]")) {
    heir.value = focused.value;
    heir.focus({ preventScroll: true });
    heir.setSelectionRange(focused.selectionStart, focused.selectionEnd);
  } else heir?.focus({ preventScroll: true });
}

function isBeingFilled(part) {
  const focused = document.activeElement;
  return part.contains(focused) && focused.matches("input, select, textarea");
}
