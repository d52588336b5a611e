import { userInfo } from "node:os";
import type { Principal } from "../contracts/access.ts";
import type { AuditLog, AuditOutcome } from "../contracts/audit.ts";
import { explain } from "../contracts/errors.ts";

/**
 * Runs a command that changes something, with audit entries before and after that name the user. If the first entry cannot be written, the
 * command does not run. `outcomeOf` is for work that returns its failure. `unaudited`: the arguments are left out, because they name
 * what is to be erased.
 */
export async function audited<T>(
  audit: AuditLog,
  work: () => Promise<T>,
  outcomeOf: (result: T) => AuditOutcome = () => ({ ok: true, error: "" }),
  { unaudited = false }: { readonly unaudited?: boolean } = {},
): Promise<T> {
  const [command = "", ...args] = process.argv.slice(2);
  const finish = await audit.begin({
    who: personHere(),
    from: "",
    action: `lockstep ${command}`,
    what: args.length > 0 ? { arguments: unaudited ? "(left out)" : args.join(" ") } : {},
  });
  const end = (outcome: AuditOutcome): Promise<void> =>
    finish(outcome).catch((error: unknown) => {
      process.stderr.write(`Warning: the outcome could not be written to the audit log: ${explain(error)}\n`);
    });
  try {
    const result = await work();
    await end(outcomeOf(result));
    return result;
  } catch (error) {
    await end({ ok: false, error: explain(error) });
    throw error;
  }
}

function personHere(): Principal {
  const name = userHere();
  return { kind: "terminal", id: name, name, role: "admin" };
}

/** Containers run as users without a name. */
export function userHere(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}
