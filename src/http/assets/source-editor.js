import { announce } from "./enhance.js";

const TYPING_PAUSE_MS = 500;
const MARKS = { ok: ["good", "✓"], problem: ["bad", "✗"], "not checked": ["idle", "–"] };

/** What a source may lose at once is nothing to look for at the source. */
const LIMITS = ["max_removals", "max_removals_percent", "allow_empty"];

/** What says where a source is; without one of them there is nothing to look at yet. */
const PLACES = [
  ["site_url", "Looking at the tenant"],
  ["start_urls", "Looking at the site"],
  ["root", "Looking at the folder"],
  ["container_url", "Looking at the container"],
  ["bucket", "Looking at the bucket"],
  ["repository", "Looking at the repository"],
];

/** By row: the pause in typing that is waited for, and the question that is under way. */
const checks = new WeakMap();
let lists = 0;

/** Lets people add, remove and duplicate sources, and checks each where it is while it is typed. */
export function editSources(editor) {
  const rows = editor.querySelector("[data-part=rows]");
  editor.addEventListener("click", ({ target }) => {
    const button = target.closest("button");
    if (button?.dataset.add) add(editor, rows, button.dataset.add);
    else if (button?.matches("[data-duplicate]")) duplicate(button.closest("[data-source-row]"));
    else if (button?.matches("[data-remove]")) remove(editor, rows, button.closest("[data-source-row]"));
  });
  editor.addEventListener("input", ({ target }) => {
    const row = target.closest("[data-source-row]");
    if (!row) return;
    if (target.dataset.field === "source_id") row.querySelector("[data-part=title]").textContent = target.value;
    else if (target === placeOf(row)) suggestId(editor, row);
    checkSoon(row);
  });
}

/** The sources as the endpoint takes them, kind by kind; a kind without any is an empty list. */
export function readSources(editor) {
  const kinds = [...editor.querySelectorAll("template[data-kind]")].map((template) => template.dataset.kind);
  const all = [...editor.querySelectorAll("[data-source-row]")];
  return Object.fromEntries(
    kinds.map((kind) => [kind, all.filter((row) => row.dataset.sourceRow === kind).map(readSource)]),
  );
}

function readSource(row) {
  const fields = [...row.querySelectorAll("[data-field]")].map((input) => [input.dataset.field, readInput(input)]);
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

function readInput(input) {
  if (input.type === "checkbox") return input.checked;
  if (input.type === "number") return input.value === "" ? undefined : Number(input.value);
  if (input.matches("textarea")) return linesOf(input);
  return input.value.trim();
}

/** Addresses, and globs of them, have no blanks in them and are pasted in any shape; names of files have. */
function linesOf(input) {
  const pieces = input.value.split("words" in input.dataset ? /\s+/ : /\n/);
  return pieces.map((piece) => piece.trim()).filter((piece) => piece !== "");
}

function add(editor, rows, kind) {
  // Whoever chooses another kind before saying where it is has changed their mind.
  if (editor.querySelector(".tiles")) {
    for (const row of [...rows.children]) if (placeOf(row).value.trim() === "") row.remove();
  }
  const template = editor.querySelector(`template[data-kind=${kind}]`);
  rows.append(template.content.cloneNode(true));
  const row = rows.lastElementChild;
  suggestId(editor, row);
  placeOf(row).focus();
  count(editor, rows);
}

/** The field that says where the source is. */
function placeOf(row) {
  return row.querySelector("[data-part=place] [data-field]");
}

/** By row: the id that was made of where it is. */
const suggestedIds = new WeakMap();

/** A source is called after where it is, until somebody gives it another id; so is the domain, after its first. */
function suggestId(editor, row) {
  const name = lastName(placeOf(row).value);
  const input = fieldOf(row, "source_id");
  if (row === row.parentElement.firstElementChild && name)
    row.dispatchEvent(new CustomEvent("placed", { bubbles: true, detail: name }));
  if (input.value !== "" && input.value !== suggestedIds.get(row)) return;
  const taken = [...editor.querySelectorAll("[data-part=rows] [data-field=source_id]")]
    .filter((other) => other !== input)
    .map(({ value }) => value);
  const plain = (name || row.dataset.noun).normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();
  const id =
    plain
      .replaceAll(/[^a-z0-9]+/g, "-")
      .replaceAll(/^-|-$/g, "")
      .slice(0, 60) || "source";
  let free = id;
  for (let at = 2; taken.includes(free); at++) free = `${id}-${at}`;
  input.value = free;
  suggestedIds.set(row, free);
  row.querySelector("[data-part=title]").textContent = free;
}

/** "Handbook" of /srv/Handbook, "example.org" of https://example.org/. */
function lastName(place) {
  const [first = ""] = place.trim().split(/\s+(?=https?:)|\n/);
  const [path = ""] = first.replace(/^\w+:\/\//, "").split(/[?#]/);
  return (
    path
      .split(/[\\/]/)
      .findLast((part) => part !== "" && part !== "~")
      ?.replace(/\.git$/, "") ?? ""
  );
}

/** `folder_sources[0].root`, as the endpoint says, is a field of the first row of its kind. */
export function sourceWords(editor, text) {
  return text.replaceAll(/'?\b(\w+_sources)\[(\d+)\](?:\.(\w+))?'?/g, (said, kind, at, field) => {
    const row = editor.querySelectorAll(`[data-part=rows] [data-source-row=${CSS.escape(kind)}]`)[Number(at)];
    if (!row) return said;
    const label = field && labelOf(fieldOf(row, field));
    return label ? `'${label}'` : `The ${row.dataset.noun} '${fieldOf(row, "source_id").value}'`;
  });
}

function duplicate(row) {
  const copy = row.cloneNode(true);
  for (const input of copy.querySelectorAll("input[list]")) input.removeAttribute("list");
  for (const list of copy.querySelectorAll("datalist")) list.remove();
  // What is typed is in the property, which a clone does not take along.
  const from = row.querySelectorAll("[data-field]");
  for (const [at, input] of copy.querySelectorAll("[data-field]").entries()) {
    if (input.type === "checkbox") input.checked = from[at].checked;
    else input.value = from[at].value;
  }
  const id = copy.querySelector("[data-field=source_id]");
  id.value = `${id.value}-copy`;
  copy.querySelector("[data-part=title]").textContent = id.value;
  copy.querySelector("[data-part=check]").replaceChildren();
  row.after(copy);
  id.focus();
  id.select();
}

function remove(editor, rows, row) {
  checks.get(row)?.asking?.abort();
  const next = row.nextElementSibling ?? row.previousElementSibling;
  row.remove();
  (next?.querySelector("input") ?? editor.querySelector("[data-add]")).focus();
  announce("The source was taken out. It is gone when you save.");
  count(editor, rows);
}

function count(editor, rows) {
  editor.querySelector("[data-part=no-sources]").hidden = rows.children.length > 0;
}

function checkSoon(row) {
  const check = checks.get(row) ?? {};
  checks.set(row, check);
  clearTimeout(check.timer);
  check.asking?.abort();
  check.timer = setTimeout(() => ask(row, check), TYPING_PAUSE_MS);
}

/** Only the last question counts; one that was overtaken is taken back. */
async function ask(row, check) {
  const place = row.querySelector("[data-part=check]");
  const source = readSource(row);
  const looked = PLACES.find(([field]) => source[field]?.length > 0);
  if (!looked) return place.replaceChildren();
  const wrong = [...row.querySelectorAll("input[pattern]")].find(({ validity }) => validity.patternMismatch);
  // It may be a secret that was pasted, which has no place in an address.
  if (wrong) return place.replaceChildren(line("bad", "✗", labelOf(wrong), wrong.title));
  check.asking = new AbortController();
  place.replaceChildren(line("idle", "…", looked[1], ""));
  const wish = { source_type: row.dataset.sourceRow, format: "json" };
  for (const [name, value] of Object.entries(source)) {
    if (LIMITS.includes(name) || value === "" || value.length === 0) continue;
    wish[name] = Array.isArray(value) ? value.join("\n") : value;
  }
  try {
    const response = await fetch(`/v2/domains/check_source?${new URLSearchParams(wish)}`, {
      signal: check.asking.signal,
    });
    const answer = await response.json();
    if (!Array.isArray(answer.data?.findings))
      throw new Error(answer.error || `The server answered ${response.status}.`);
    show(row, place, answer.data);
  } catch (error) {
    if (error.name !== "AbortError")
      place.replaceChildren(line("bad", "✗", "Not checked", inWords(row, error.message)));
  }
}

/** Everything that is well in one line, every problem in its own: in words, whatever the colour. */
function show(row, place, { findings, suggestions = [] }) {
  // Whoever has not come to a field yet has made no mistake in it: then what there is to choose from says enough.
  const isUnnamed = suggestions.some(({ field }) => fieldOf(row, field)?.value.trim() === "");
  const problems = isUnnamed ? [] : findings.filter(({ outcome }) => outcome === "problem");
  const shown = problems.length > 0 ? problems : findings.filter(({ outcome }) => outcome === "ok").slice(-1);
  place.replaceChildren(
    ...shown.map(({ outcome, subject, detail, remedy }) =>
      line(...MARKS[outcome], subject, inWords(row, detail), inWords(row, remedy)),
    ),
  );
  if (problems.length > 0) place.append(note("It can be saved all the same."));
  for (const { field, values } of suggestions) suggest(row, place, field, values);
}

function fieldOf(row, name) {
  return row.querySelector(`[data-field=${CSS.escape(name)}]`);
}

/** Fields are called what the form calls them, not what the endpoint does. */
function inWords(row, text) {
  return text.replaceAll(/'(\w+)'/g, (quoted, name) => {
    const label = labelOf(fieldOf(row, name));
    return label ? `'${label}'` : quoted;
  });
}

function labelOf(input) {
  return input?.closest("label")?.querySelector("span")?.textContent;
}

function suggest(row, place, field, values) {
  const input = fieldOf(row, field);
  if (!input || values.length === 0) return;
  let list = row.querySelector(`datalist[data-for=${CSS.escape(field)}]`);
  if (!list) {
    list = document.createElement("datalist");
    list.id = `suggestions-${++lists}`;
    list.dataset.for = field;
    // Inside the label its options would become part of the field's name.
    input.closest("label").after(list);
    input.setAttribute("list", list.id);
  }
  list.replaceChildren(...values.map((value) => new Option(value, value)));
  if (values.includes(input.value.trim())) return;
  place.append(choices(row, input, values));
}

/** The nearest few as buttons, for whoever does not know that the field has a list. */
function choices(row, input, values) {
  const box = document.createElement("p");
  box.className = "suggestions";
  box.append("There is: ");
  for (const value of values.slice(0, 6)) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "small plain";
    button.textContent = value;
    button.addEventListener("click", () => {
      input.value = value;
      input.focus();
      checkSoon(row);
    });
    box.append(button);
  }
  return box;
}

function line(tone, mark, subject, detail, remedy = "") {
  const box = document.createElement("div");
  box.className = `finding ${tone}`;
  const sign = document.createElement("span");
  sign.className = "mark";
  sign.setAttribute("aria-hidden", "true");
  sign.textContent = mark;
  const words = document.createElement("div");
  const head = document.createElement("p");
  const name = document.createElement("strong");
  name.textContent = subject;
  head.append(name, detail ? ` ${detail}` : "");
  words.append(head);
  if (remedy) words.append(Object.assign(document.createElement("p"), { className: "remedy", textContent: remedy }));
  box.append(sign, words);
  return box;
}

function note(words) {
  return Object.assign(document.createElement("p"), { className: "quiet", textContent: words });
}
