import { BadInputError, explain, RemoteError } from "../../contracts/errors.ts";
import type { Finding } from "../../contracts/finding.ts";
import { createTreeRules } from "../../detect/lineage/tree-rules.ts";
import { plural } from "../../lib/plural.ts";
import type { BlobSourceConfig } from "./blob-source-codec.ts";
import { listBlobs } from "./list-blobs.ts";
import type { OpenedContainer } from "./open-container.ts";

/** Everything between the credential and the first blob. */
export async function* examineContainer(
  config: BlobSourceConfig,
  open: () => Promise<OpenedContainer>,
  isTaken: (path: string) => boolean,
  signal: AbortSignal,
): AsyncGenerator<Finding, void> {
  const credential = { subject: config.credential ? `Credential ${config.credential}` : "Credential" };
  const subject = `Container ${config.containerUrl}`;
  let container: OpenedContainer;
  try {
    container = await open();
  } catch (error) {
    yield { ...credential, outcome: "problem", detail: sentenceOf(error), remedy: SET_CREDENTIAL };
    const detail = `Cannot be looked at before this is solved: ${credential.subject}.`;
    return yield { subject, outcome: "not checked", detail, remedy: "" };
  }
  yield { ...credential, outcome: "ok", detail: `The container is read with ${container.access}.`, remedy: "" };
  try {
    yield { subject, ...(await lookInside(config, container, isTaken, signal)) };
  } catch (error) {
    yield { subject, outcome: "problem", detail: sentenceOf(error), remedy: `${capital(container.hint)}.` };
  }
}

const SET_CREDENTIAL =
  "Whoever runs the server sets the variable to a shared access signature that may read and list the container, or to the connection string of its account.";

/** The first answer tells enough; a container may have millions of blobs. */
async function lookInside(
  config: BlobSourceConfig,
  container: OpenedContainer,
  isTaken: (path: string) => boolean,
  signal: AbortSignal,
): Promise<Omit<Finding, "subject">> {
  const isLetIn = createTreeRules(config);
  const rootLength = config.prefix.lastIndexOf("/") + 1;
  for await (const blobs of listBlobs(container, config.prefix, signal)) {
    if (blobs.length === 0) continue;
    const paths = blobs.map(({ name }) => name.slice(rootLength));
    const taken = paths.filter((path) => isLetIn(path) && isTaken(path)).length;
    const detail = `Of its first ${plural(blobs.length, "blob")} ${taken} ${taken === 1 ? "is" : "are"} taken, by type and by the rules of the source.`;
    if (taken > 0) return { outcome: "ok", detail, remedy: "" };
    return { outcome: "problem", detail, remedy: "Correct 'include', 'exclude' or 'hidden' in the domain's sources." };
  }
  const where = config.prefix ? ` under the prefix '${config.prefix}'` : "";
  return { outcome: "ok", detail: `It can be read, and there is no blob${where}.`, remedy: "" };
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
