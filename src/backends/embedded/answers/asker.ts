import { mayAct, ownerOf, type Principal } from "../../../contracts/access.ts";

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

export function maySee({ owner, seesAll }: Asker, whose: string | null): boolean {
  return seesAll || (whose !== null && whose === owner);
}
