/** The forms answer with JSON; here what they answer stays on the page. */
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.matches("[data-create-key]")) {
    event.preventDefault();
    await attempt(form, () => createKey(form));
  } else if (form.matches("[data-remove-key]")) {
    event.preventDefault();
    if (confirm(`Remove the key '${form.dataset.removeKey}'? It stops working at once.`)) {
      await attempt(form, () => removeKey(form));
    }
  }
});

async function createKey(form) {
  const { data } = await send(form.getAttribute("action"), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(Object.fromEntries(new FormData(form))),
  });
  const place = document.querySelector("[data-new-key]");
  place.querySelector("code").textContent = data.key;
  place.hidden = false;
  form.hidden = true;
  place.querySelector("pre").focus();
}

async function removeKey(form) {
  const params = new URLSearchParams(new FormData(form));
  await send(`${form.getAttribute("action")}?${params}`, { method: "DELETE" });
  location.reload();
}

async function send(address, init) {
  const response = await fetch(address, init);
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error || `The server answered ${response.status}.`);
  return answer;
}

async function attempt(form, action) {
  const button = form.querySelector("button");
  const place = document.querySelector("[data-create-key] .form-error");
  place.hidden = true;
  button.disabled = true;
  try {
    await action();
  } catch (error) {
    place.textContent = error.message;
    place.hidden = false;
  } finally {
    button.disabled = false;
  }
}
