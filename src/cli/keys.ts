import type { App } from "../app/app.ts";
import { ROLES, type Role } from "../contracts/access.ts";
import { BadInputError } from "../contracts/errors.ts";
import type { KeyFacts } from "../security/access.ts";
import { readExpiry } from "../security/key-store.ts";
import { audited } from "./audited.ts";
import type { Call, Command } from "./command.ts";
import { openApp } from "./open-app.ts";

export const keysCommand: Command = {
  name: "keys",
  arguments: ["[list|add|remove]", "[NAME]"],
  options: {
    role: { value: "role", choices: ROLES, help: "With add: what whoever brings the key may do." },
    expires: { value: "day", help: "With add: the day from which it is not accepted any more, e.g. 2027-01-01." },
  },
  examples: [
    "lockstep keys",
    "lockstep keys add ada --role admin",
    "lockstep keys add reporting --role read --expires 2027-01-01",
    "lockstep keys remove reporting",
  ],
  async run(call) {
    const [action = "list", name] = call.positionals;
    const act = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (!act) throw new BadInputError(`There is no 'keys ${action}'. Accepted: list, add, remove.`);
    if ((action === "list") !== (name === undefined)) {
      throw new BadInputError(
        action === "list" ? "'keys list' takes no name." : `Say which key: lockstep keys ${action} NAME`,
      );
    }
    await using app = await openApp();
    await act(app, name ?? "", call);
    return 0;
  },
};

const ACTIONS: Readonly<Record<string, (app: App, name: string, call: Call) => Promise<void>>> = {
  async list(app) {
    const { access } = app;
    const keys = await access.keys.list();
    if (keys.length === 0) say(`There are no keys. ${await describeAccess(app)}`);
    for (const key of keys) say(describe(key));
  },
  async add({ access, audit, config }, name, call) {
    const role = call.text("role");
    if (role === undefined) throw new BadInputError(`Say what the key is for: --role ${ROLES.join(" | ")}.`);
    const expiresAt = readExpiry(call.text("expires") ?? "");
    const isFirst = !(await access.hasWayIn());
    const { key } = await audited(audit, () => access.keys.create({ name, role: role as Role, expiresAt }));
    process.stderr.write("This is the key. It is not kept and cannot be shown again.\n");
    say(key);
    if (isFirst && config.trees.roots.length === 0) {
      process.stderr.write(
        "From now on folders are read only below FOLDER_ROOTS; 'lockstep doctor' names the sources that lie elsewhere.\n",
      );
    }
  },
  async remove(app, name) {
    const { access, audit } = app;
    await audited(audit, () => access.keys.remove(name));
    say(`Removed '${name}'. It is not accepted any more, by any server on this storage.`);
    if ((await access.keys.list()).length === 0) say(await describeAccess(app));
  },
};

function describe({ id, name, role, expiresAt }: KeyFacts): string {
  const ends =
    expiresAt === "" ? "" : Date.parse(expiresAt) <= Date.now() ? "expired" : `until ${expiresAt.slice(0, 10)}`;
  return `${name.padEnd(24)} ${role.padEnd(8)} ${id}  ${ends}`.trimEnd();
}

async function describeAccess({ access, config }: App): Promise<string> {
  if (await access.isRequired()) return "Every request needs one; 'lockstep keys add NAME --role admin' creates one.";
  const who =
    config.access.withoutKeys === "everybody"
      ? "whoever reaches the server"
      : "the account that runs the server, and root,";
  return `Nobody has to bring one: ${who} may do everything.`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
