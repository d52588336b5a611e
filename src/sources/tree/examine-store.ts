import { BadInputError, explain, RemoteError } from "../../contracts/errors.ts";
import type { Finding } from "../../contracts/finding.ts";
import { createTreeRules } from "../../detect/lineage/tree-rules.ts";
import { plural } from "../../lib/plural.ts";
import { listFiles, type ObjectRules, type ObjectStore, type ObjectTreeOptions, rootOf } from "./create-object-tree.ts";

/** Everything between the credential and the first object. */
export async function* examineStore(
  rules: ObjectRules,
  { place, open, words }: ObjectTreeOptions,
  isTaken: (path: string) => boolean,
  signal: AbortSignal,
): AsyncGenerator<Finding, void> {
  const credential = { subject: rules.credential ? `Credential ${rules.credential}` : "Credential" };
  const subject = `${words.store} ${place}`;
  let store: ObjectStore;
  try {
    store = await open();
  } catch (error) {
    yield { ...credential, outcome: "problem", detail: sentenceOf(error), remedy: words.setCredential };
    const detail = `Cannot be looked at before this is solved: ${credential.subject}.`;
    return yield { subject, outcome: "not checked", detail, remedy: "" };
  }
  const detail = `The ${words.store.toLowerCase()} is read with ${store.access}.`;
  yield { ...credential, outcome: "ok", detail, remedy: "" };
  try {
    yield { subject, ...(await lookInside(rules, store, words.object, isTaken, signal)) };
  } catch (error) {
    yield { subject, outcome: "problem", detail: sentenceOf(error), remedy: `${capital(store.hint)}.` };
  }
}

/** The first answer tells enough; a store may have millions of objects. */
async function lookInside(
  rules: ObjectRules,
  store: ObjectStore,
  noun: string,
  isTaken: (path: string) => boolean,
  signal: AbortSignal,
): Promise<Omit<Finding, "subject">> {
  const isLetIn = createTreeRules(rules);
  const rootLength = rootOf(rules.prefix).length;
  for await (const objects of listFiles(store, rules.prefix, signal)) {
    if (objects.length === 0) continue;
    const paths = objects.map(({ name }) => name.slice(rootLength));
    const taken = paths.filter((path) => isLetIn(path) && isTaken(path)).length;
    const detail = `Of its first ${plural(objects.length, noun)} ${taken} ${taken === 1 ? "is" : "are"} taken, by type and by the rules of the source.`;
    if (taken > 0) return { outcome: "ok", detail, remedy: "" };
    return { outcome: "problem", detail, remedy: "Correct 'include', 'exclude' or 'hidden' in the domain's sources." };
  }
  const where = rules.prefix ? ` under the prefix '${rules.prefix}'` : "";
  return { outcome: "ok", detail: `It can be read, and there is no ${noun}${where}.`, remedy: "" };
}

/** Never throws for what it finds, and other errors are none of its business. */
function sentenceOf(error: unknown): string {
  if (!(error instanceof RemoteError || error instanceof BadInputError)) throw error;
  const text = capital(explain(error));
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
