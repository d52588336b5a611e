/**
 * The answer that a language model writes replaces the sentences taken from the documents, as it comes. If it does not come, those stay.
 */
for (const block of document.querySelectorAll("[data-answer][data-stream]")) write(block);

function write(block) {
  const part = (name) => block.querySelector(`[data-part=${name}]`);
  const events = new EventSource(block.dataset.stream);
  const said = part("said").textContent;
  let list;
  const vote = block.querySelector("[data-vote]");
  for (const name of ["answer", "file_ids"]) if (vote) vote.elements[name].value = "";
  part("ask")?.remove();
  part("said").textContent = `${block.dataset.writer} is writing …`;
  const end = (text) => {
    events.close();
    part("said").textContent = text;
  };
  events.addEventListener("sentence", ({ data }) => {
    if (!list) {
      list = document.createElement("ul");
      list.className = "sentences";
      part("sentences").replaceChildren(list);
    }
    const sentence = JSON.parse(data);
    list.append(itemOf(sentence));
    takeForVote(block, sentence);
  });
  events.addEventListener("end_json", ({ data }) => {
    const { result } = JSON.parse(data);
    const { error } = result;
    const { answer } = result.data;
    const writer = block.dataset.writer;
    if (error) return end(`${list ? "The answer broke off" : `${said}. ${writer} did not answer`}: ${error}`);
    if (answer) {
      const nothing = document.createElement("p");
      nothing.className = "nothing";
      nothing.textContent = answer;
      part("sentences").replaceChildren(nothing);
    }
    end(
      answer
        ? `${writer} found no answer in the passages below`
        : `Written by ${writer} from the passages below; check it at its sources`,
    );
  });
  events.addEventListener("error", () => end(list ? "The answer broke off." : said));
}

/** A vote is about what is shown. */
function takeForVote(block, { text, sources }) {
  const vote = block.querySelector("[data-vote]");
  if (!vote) return;
  const { answer, file_ids: files } = vote.elements;
  answer.value = `${answer.value} ${text}`.trim();
  files.value = [...new Set([...files.value.split(","), ...sources.map(({ file_id }) => file_id)])]
    .filter(Boolean)
    .join();
}

/** Texts come from a model and from documents: they are set as text. */
function itemOf({ text, supported, sources }) {
  const item = document.createElement("li");
  item.className = supported ? "sentence" : "sentence unsupported";
  item.append(wrapped("span", wrapped("bdi", text)), " ");
  if (!supported) item.append(wrapped("span", "No source", "pill warn"));
  for (const { title, url } of sources) {
    const link = document.createElement("a");
    const { pathname, search, hash, origin } = new URL(url, location);
    // Ours, however the server is reached.
    link.href = pathname.startsWith("/v2/") ? `${pathname}${search}${hash}` : `${origin}${pathname}${search}`;
    link.append(wrapped("bdi", title));
    item.append(wrapped("cite", link), " ");
  }
  return item;
}

function wrapped(tag, content, className = "") {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(content);
  return element;
}
