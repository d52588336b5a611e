/** The form's own way of sending is the fallback; here its answer stays on the page. */
export async function take(event, action) {
  event.preventDefault();
  const form = event.target;
  const button = event.submitter ?? form.querySelector("button");
  showError(form, "");
  if (button) button.disabled = true;
  try {
    await action(form, event.submitter);
  } catch (error) {
    showError(form, error.message);
  } finally {
    if (button) button.disabled = false;
  }
}

/** Within the form, or where the console tells of its connection. */
export function showError(place, message) {
  const own = place.querySelector(".form-error");
  const error = own ?? document.querySelector("#console [data-part=connection]");
  if (!error) return;
  error.textContent = message;
  if (own) own.hidden = message === "";
}

/** A question that has to be answered before anything is gone; true when its [data-confirms] was pressed. */
export function confirmed(dialog) {
  return new Promise((resolve) => {
    const yes = dialog.querySelector("[data-confirms]");
    const confirm = () => dialog.close("yes");
    dialog.returnValue = "";
    yes.addEventListener("click", confirm, { once: true });
    dialog.addEventListener(
      "close",
      () => {
        yes.removeEventListener("click", confirm);
        resolve(dialog.returnValue === "yes");
      },
      { once: true },
    );
    dialog.showModal();
  });
}
