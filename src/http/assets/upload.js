/** Uploads files one after the other, with the progress of each; those that would be refused are told before anything is sent. */
import { refresh } from "./refresh.js";

const form = document.querySelector("[data-upload]");

if (form) begin(form);

function begin(element) {
  for (const part of element.querySelectorAll("[data-scripted]")) part.hidden = false;
  const [files, folder, drop] = [
    element.querySelector("[name=file]"),
    element.querySelector("[data-part=folder]"),
    element.querySelector("[data-part=drop]"),
  ];
  files.required = false;
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = [...files.files, ...folder.files];
    take(
      element,
      chosen.map((file) => ({ file, path: file.webkitRelativePath || file.name })),
    );
    files.value = "";
    folder.value = "";
  });
  drop.addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", async (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    // What is dropped is gone after the first await. Programs may give files that are no entries.
    const dropped = [...event.dataTransfer.items].map((item) => ({
      entry: item.webkitGetAsEntry(),
      file: item.getAsFile(),
    }));
    const found = await Promise.all(
      dropped.map(({ entry, file }) => (entry ? filesOf(entry, "") : file ? [{ file, path: file.name }] : [])),
    );
    take(element, found.flat());
  });
}

/** Files of a dropped folder, with their paths in it. Hidden ones are left out, as a crawl leaves them out. */
async function filesOf(entry, above) {
  if (entry.name.startsWith(".")) return [];
  const path = above + entry.name;
  if (entry.isFile) return [{ file: await new Promise((done, fail) => entry.file(done, fail)), path }];
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    // A reader gives at most a hundred at a time.
    const some = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (some.length === 0) return found.flat();
    found.push(...(await Promise.all(some.map((one) => filesOf(one, `${path}/`)))));
  }
}

let running = Promise.resolve();

function take(element, wanted) {
  const note = element.querySelector(".form-error");
  note.hidden = wanted.length > 0;
  note.textContent = "Choose files, or drop some here.";
  running = running.then(() => upload(element, wanted));
}

async function upload(element, wanted) {
  const list = element.querySelector("[data-part=list]");
  list.hidden = wanted.length === 0;
  const [most, types] = [Number(element.dataset.max), new Set(element.dataset.types.split(" "))];
  const items = wanted.map(({ file, path }) => ({
    file,
    path,
    row: rowOf(list, path),
    why: whyNot(file, path, most, types),
  }));
  for (const { row, why } of items) if (why) row.fail(why);
  const sent = items.filter(({ why }) => !why);
  const waiting = [];
  for (const [at, { file, path, row }] of sent.entries()) {
    const isLast = at === sent.length - 1;
    const address = `${element.dataset.upload}&format=json&path=${encodeURIComponent(path)}&crawl=${isLast}`;
    row.say("uploading");
    try {
      await send(address, file, (share) => row.progress(share));
      waiting.push(row);
      row.say("stored");
      if (isLast) for (const stored of waiting.splice(0)) stored.say("uploaded");
    } catch (error) {
      row.fail(error.message);
    }
  }
  // The last one would have brought in the others.
  if (waiting.length > 0) await fetch(element.dataset.bringIn).catch(() => undefined);
  await refresh();
}

function whyNot(file, path, most, types) {
  const type = /[^/]\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
  if (!types.has(type))
    return type ? `files of type '${type}' are not taken in` : "files without a type are not taken in";
  return file.size > most ? "it is too large" : "";
}

function rowOf(list, path) {
  const row = document.createElement("li");
  const [name, bar, state] = ["span", "progress", "span"].map((tag) => document.createElement(tag));
  name.textContent = path;
  bar.max = 1;
  bar.value = 0;
  bar.setAttribute("aria-label", path);
  state.textContent = "waiting";
  row.append(name, bar, state);
  list.append(row);
  return {
    progress: (share) => {
      bar.value = share;
    },
    say: (word) => {
      state.textContent = word;
    },
    fail: (why) => {
      bar.remove();
      state.className = "bad";
      state.textContent = `not uploaded: ${why}`;
    },
  };
}

/** fetch tells nothing of how far an upload is. */
function send(address, file, progress) {
  return new Promise((done, fail) => {
    const request = new XMLHttpRequest();
    request.open("PUT", address);
    request.setRequestHeader("content-type", "application/octet-stream");
    request.upload.onprogress = ({ loaded, total }) => progress(total > 0 ? loaded / total : 1);
    request.onerror = () => fail(new Error("the connection was lost"));
    request.onload = () => {
      const answer = parse(request.responseText);
      if (request.status < 400 && answer.ok) done();
      else fail(new Error(answer.error || `the server answered ${request.status}`));
    };
    request.send(file);
  });
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return { ok: false, error: "" };
  }
}
