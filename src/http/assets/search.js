/** The explanation is taken out of the page that the form would have led to, and shown below it. */
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("[data-explain]")) return;
  event.preventDefault();
  const place = document.querySelector("[data-explanation]");
  const button = form.querySelector("button");
  button.disabled = true;
  place.textContent = "Looking…";
  try {
    const response = await fetch(`${form.getAttribute("action")}?${new URLSearchParams(new FormData(form))}`);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const found = page.querySelector("[data-explained]");
    if (found) place.replaceChildren(found);
    else place.textContent = page.querySelector("main")?.innerText || `The server answered ${response.status}.`;
  } catch (error) {
    place.textContent = `The server cannot be reached (${error.message}).`;
  } finally {
    button.disabled = false;
  }
});

/** A vote is sent without leaving the answer; another one replaces it. */
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("[data-vote]")) return;
  event.preventDefault();
  const said = form.querySelector("[data-part=said]");
  try {
    const body = new URLSearchParams(new FormData(form, event.submitter));
    const response = await fetch("/v2/feedback?format=json", { method: "POST", body });
    const { ok, error } = await response.json();
    said.textContent = ok ? "Thank you, it is noted." : error;
    if (!ok) return;
    for (const button of form.querySelectorAll("button"))
      button.setAttribute("aria-pressed", String(button === event.submitter));
  } catch (error) {
    said.textContent = `The server cannot be reached (${error.message}).`;
  }
});

/** Sources and generations belong to a domain: another one is searched without what was chosen of the last. */
document.querySelector(".search-form select[name=domain_id]")?.addEventListener("change", ({ target }) => {
  const form = target.form;
  for (const name of ["source_id", "generation"]) {
    const field = form.elements[name];
    if (field) field.value = "";
  }
});
