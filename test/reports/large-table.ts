/** Run by a test in a process with little memory: windows into a table that would not fit there. Prints what it saw. */
import { readTableWindow } from "../../src/reports/table-window.ts";

const ROWS = 200_000;
const FILLER = "x".repeat(290);

async function* content(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("name,filler\r\n");
  for (let from = 0; from < ROWS; from += 500) {
    let text = "";
    // 7919 has no divisor in common with the number of rows, so every name comes once, in no order.
    for (let row = from; row < from + 500; row++) {
      text += `file-${String((row * 7919) % ROWS).padStart(6, "0")}.docx,${FILLER}\r\n`;
    }
    yield Buffer.from(text);
  }
}

const open = async () => ({ content: content() });
const { signal } = new AbortController();
const show = async (wish: { sort: string; filter: string; offset: number }) => {
  const { rows, total } = await readTableWindow(open, { ...wish, limit: 2 }, signal);
  return { total, names: rows.map(([name]) => name) };
};
const first = await show({ sort: "name", filter: "", offset: 0 });
const deep = await show({ sort: "-name", filter: "", offset: 19_998 });
const filtered = await readTableWindow(open, { sort: "name", filter: "12345.DOCX", offset: 0, limit: 10 }, signal);
process.stdout.write(
  JSON.stringify({
    total: first.total,
    first: first.names,
    deep: deep.names,
    filtered: { total: filtered.total, names: filtered.rows.map(([name]) => name) },
  }),
);
