/** What somebody may do; each can do all that the ones before it can. */
export const ROLES = ["read", "operate", "admin"] as const;
export type Role = (typeof ROLES)[number];

/** Whoever asks for something, as far as it was proved. */
export interface Principal {
  /** `local`: nobody has to prove anything here. `terminal`: the person at the command line. `schedule`: the clock. `stranger`: nobody that is known. */
  readonly kind: "local" | "key" | "entra" | "terminal" | "schedule" | "stranger";
  /** Of the key, or of the account in Entra ID; the user's name at the command line. Never a secret. */
  readonly id: string;
  /** For people. */
  readonly name: string;
  readonly role: Role;
}

export function mayAct({ role }: Principal, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/** Under which name somebody's answers and conversations are kept: a name may be given to another key later, an id is not. */
export function ownerOf({ kind, id }: Principal): string {
  return `${kind}:${id}`;
}
