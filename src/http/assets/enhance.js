/** Times in the reader's own zone, and the parts that only make sense with scripts. For every piece of page that is put in. */
export function enhance(root) {
  for (const part of root.querySelectorAll("[data-scripted]")) part.hidden = false;
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  for (const time of root.querySelectorAll("time")) {
    time.title = time.dateTime;
    time.textContent = format.format(new Date(time.dateTime));
  }
}

/** For screen readers, wherever on the page something changed. */
export function announce(words) {
  const place = document.querySelector("#announcer");
  if (place) place.textContent = words;
}
