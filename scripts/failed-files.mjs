import { relative, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");

/**
 * A reporter of `node --test`: a line for every test or suite that failed by itself, with the file that it is in. Suites that failed
 * because something in them did are not named.
 */
export default async function* failedFiles(events) {
  for await (const { type, data } of events) {
    const isOfOthers = data?.details?.error?.failureType === "subtestsFailed";
    if (type === "test:fail" && !isOfOthers) yield `${relative(root, data.file ?? "nowhere")}\n`;
  }
}
