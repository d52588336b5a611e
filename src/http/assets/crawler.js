import { announce } from "./enhance.js";

const form = document.querySelector("[data-crawler]");

if (form) {
  const sources = form.querySelector("[data-part=source]");
  const groups = [...sources.querySelectorAll("optgroup")];
  const scope = form.querySelector("[data-part=scope]");
  const scopes = [...scope.options];
  /** A choice between one thing and everything is none. */
  const showChoice = (select) => {
    select.closest("label").hidden = select.options.length <= 2 && select.selectedIndex <= 0;
  };
  const showSources = () => {
    const chosen = sources.value;
    for (const group of groups) group.remove();
    const own = groups.find(({ dataset }) => dataset.domain === form.elements.namedItem("domain_id").value);
    // Only one domain's sources are left, so its name above them says nothing.
    sources.replaceChildren(
      sources.options[0],
      ...(own ? [...own.children].map((option) => option.cloneNode(true)) : []),
    );
    sources.value = [...sources.options].some(({ value }) => value === chosen) ? chosen : "";
    const had = (own?.dataset.scopes ?? "").split(" ");
    const wanted = scope.value;
    const possible = scopes.filter(({ value }) => value === "all" || had.includes(value));
    scope.replaceChildren(...possible);
    scope.value = possible.some(({ value }) => value === wanted) ? wanted : "all";
    showChoice(sources);
    showChoice(scope);
  };
  form.addEventListener("input", ({ target }) => {
    if (target.name === "domain_id") showSources();
    preview();
  });
  form.addEventListener("click", copy);
  showSources();
  preview();
}

/** The address that the button will call, without what says nothing. */
function preview() {
  const step = form.querySelector("[data-part=step]").value;
  form.setAttribute("action", step);
  const wishes = [...new FormData(form)].filter(([name, value]) => value !== "" && name !== "format");
  const address = `${location.origin}${step}?${new URLSearchParams(wishes)}`;
  form.querySelector("[data-part=address]").textContent = address;
  form.querySelector("[data-part=curl]").textContent = `curl -N '${address}&format=stream'`;
  const dryRun = form.elements.namedItem("plan").checked;
  form.querySelector("[data-part=go]").textContent = dryRun ? "Make the plan" : "Start";
}

async function copy({ target }) {
  const button = target.closest("[data-copy]");
  if (!button) return;
  const code = form.querySelector(`[data-part=${button.dataset.copy}]`);
  try {
    await navigator.clipboard.writeText(code.textContent);
    announce("Copied.");
    button.dataset.copied = "";
    setTimeout(() => delete button.dataset.copied, 1500);
  } catch {
    // Without the right to the clipboard the text is at least selected.
    getSelection().selectAllChildren(code);
  }
}
