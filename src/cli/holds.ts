import type { App } from "../app/app.ts";
import { BadInputError } from "../contracts/errors.ts";
import { type DomainId, parseDomainId, parseSourceId, type SourceId } from "../contracts/ids.ts";
import { sayHold } from "../engine/erase/holds.ts";
import { audited, userHere } from "./audited.ts";
import type { Call, Command } from "./command.ts";
import { openApp } from "./open-app.ts";
import { plainLine } from "./terminal-text.ts";

export const holdsCommand: Command = {
  name: "holds",
  arguments: ["DOMAIN"],
  options: {
    set: { help: "Holds the document that is named, or the whole domain if none is." },
    lift: { help: "Lifts that hold." },
    document: { value: "name", help: "A document: its path below its source, name, address, document id or file id." },
    item: { value: "id", help: "An item by its id, as the list has it." },
    source: { value: "id", help: "Its source." },
    reason: { value: "text", help: "Why, for those who are refused." },
  },
  examples: [
    "lockstep holds DEMO",
    "lockstep holds DEMO --set --document handbook/travel.md --reason 'case 7'",
    "lockstep holds DEMO --lift --source docs --item doc_k7gxn3",
  ],
  async run(call) {
    const domainId = parseDomainId(call.positionals[0] ?? "");
    if (call.flag("set") && call.flag("lift")) throw new BadInputError("Take --set or --lift, not both.");
    await using app = await openApp();
    if (call.flag("set")) await audited(app.audit, () => set(app, domainId, call), undefined, { unaudited: true });
    if (call.flag("lift")) await audited(app.audit, () => lift(app, domainId, call));
    const { holds } = await app.erasures(domainId);
    const lines = holds.map((hold) => sayHold(hold, domainId));
    process.stdout.write(
      lines.length === 0 ? "Nothing is held.\n" : lines.map((line) => `${plainLine(line)}\n`).join(""),
    );
    return 0;
  },
};

async function set(app: App, domainId: DomainId, call: Call): Promise<void> {
  const sourceId = sourceOf(call) || undefined;
  const named = { document: call.text("document"), itemId: call.text("item"), sourceId };
  await app.setHold({ domainId, ...named, reason: call.text("reason") ?? "", by: `terminal:${userHere()}` });
}

async function lift(app: App, domainId: DomainId, call: Call): Promise<void> {
  if (call.text("document") !== undefined)
    throw new BadInputError("--lift takes the item as the list has it: --source and --item.");
  await app.liftHold(domainId, { sourceId: sourceOf(call), item: call.text("item") ?? "" });
}

function sourceOf(call: Call): SourceId | "" {
  const source = call.text("source");
  return source === undefined ? "" : parseSourceId(source);
}
