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

/** Whose answers and conversations are there for somebody: one's own, and for administrators all. */
export interface Asker {
  /** What they leave belongs to this; null: to nobody, so to the administrators. */
  readonly owner: string | null;
  readonly seesAll: boolean;
}

/** undefined: the product itself. */
export function askerOf(by: Principal | undefined): Asker {
  return by ? { owner: ownerOf(by), seesAll: mayAct(by, "admin") } : { owner: null, seesAll: true };
}

/** null and undefined: nobody knows whose it is. */
export function maySee({ owner, seesAll }: Asker, whose: string | null | undefined): boolean {
  return seesAll || (owner !== null && whose === owner);
}

/** A model takes system and developer messages for orders: nobody, administrators included, writes them into somebody else's conversation. */
export function mayWrite({ owner }: Asker, whose: string | null | undefined, role: unknown): boolean {
  return (role !== "system" && role !== "developer") || (whose ?? owner) === owner;
}

export const NOT_YOURS_TO_ORDER =
  "The conversation is somebody else's: only they write system and developer messages in it.";
