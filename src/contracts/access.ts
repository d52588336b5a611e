/** Each role includes the ones before it. */
export const ROLES = ["read", "operate", "admin"] as const;
export type Role = (typeof ROLES)[number];

/** The authenticated caller. */
export interface Principal {
  /**
   * `local`: no authentication is required here. `terminal`: the user at the command line. `schedule`: a scheduled
   * crawl. `stranger`: not authenticated.
   */
  readonly kind: "local" | "key" | "entra" | "terminal" | "schedule" | "stranger";
  /** Id of the key or the Entra ID account; the user's name at the command line. Never a secret. */
  readonly id: string;
  /** Display name. */
  readonly name: string;
  readonly role: Role;
}

export function mayAct({ role }: Principal, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/** Returns the owner stored with responses and conversations. By id: a name may be given to another key later. */
export function ownerOf({ kind, id }: Principal): string {
  return `${kind}:${id}`;
}

/** Which stored responses and conversations a caller may use: their own; administrators, all. */
export interface Asker {
  /** Owner of what the caller stores; null: none, so only administrators see it. */
  readonly owner: string | null;
  readonly seesAll: boolean;
}

/** undefined: the product itself. */
export function askerOf(by: Principal | undefined): Asker {
  return by ? { owner: ownerOf(by), seesAll: mayAct(by, "admin") } : { owner: null, seesAll: true };
}

/** `whose`: the stored owner; null or undefined if unknown. */
export function maySee({ owner, seesAll }: Asker, whose: string | null | undefined): boolean {
  return seesAll || (owner !== null && whose === owner);
}

/**
 * Models obey system and developer messages: nobody, not even an administrator, may add them to another owner's
 * conversation.
 */
export function mayWrite({ owner }: Asker, whose: string | null | undefined, role: unknown): boolean {
  return (role !== "system" && role !== "developer") || (whose ?? owner) === owner;
}

export const NOT_YOURS_TO_ORDER =
  "The conversation is somebody else's: only they write system and developer messages in it.";
