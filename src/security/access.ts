import type { Principal, Role } from "../contracts/access.ts";

/** What a request brings to prove who sends it. */
export interface Credentials {
  /** The `Authorization` header. */
  readonly authorization: string | undefined;
  /** The `api-key` or `x-api-key` header, as clients of Azure send it. */
  readonly apiKey: string | undefined;
  /** The cookie that signing in left. */
  readonly session: string | undefined;
}

/** Who asks, as far as it was proved. What was brought is never repeated. */
export type Identity =
  | { readonly status: "known"; readonly principal: Principal }
  /** Nothing was brought, and something is needed. */
  | { readonly status: "anonymous" }
  /** What was brought proves nothing: unknown, removed, expired, forged. */
  | { readonly status: "unproved" }
  /** A genuine token of somebody who was given no role here. */
  | { readonly status: "without-role"; readonly name: string };

export interface Comparing {
  /** Only what nobody guesses, a key of ours, a token, or as many random bits, is compared with anything; the rest is unproved at once. */
  readonly onlyUnguessable: boolean;
}

/** Who may come in, and as whom. */
export interface Access {
  /** false: nobody has to prove anything, and everybody is the `local` principal. As things stand on disk now. */
  isRequired(): Promise<boolean>;
  /** Whether there is any key or token that somebody could come in with. */
  hasWayIn(): Promise<boolean>;
  /** RemoteError when the keys of Entra ID cannot be had, ConflictError when ours cannot be read: then nobody comes in. */
  authenticate(credentials: Credentials, options?: Comparing): Promise<Identity>;
  /** For the sign-in page: undefined when the key is not known. */
  signIn(key: string, options?: Comparing): Promise<Session | undefined>;
  /** Whether somebody who came in with a key could still do so. */
  isCurrent(principal: Principal): Promise<boolean>;
  signOut(session: string): void;
  readonly keys: KeyStore;
  close(): Promise<void>;
}

export interface Session {
  /** The value of the cookie. */
  readonly cookie: string;
  readonly principal: Principal;
  readonly expiresAt: string;
}

/** API keys, of which only a hash is kept. */
export interface KeyStore {
  list(): Promise<readonly KeyFacts[]>;
  /** The key itself is told this once. BadInputError when the name is taken. */
  create(
    wanted: { readonly name: string; readonly role: Role; readonly expiresAt: string },
    options?: KeyOptions,
  ): Promise<NewKey>;
  /** By id or name; NotFoundError when there is none. It is not accepted from then on, by any process. */
  remove(idOrName: string, options?: KeyOptions): Promise<KeyFacts>;
}

export interface KeyOptions {
  /** true: only what would come of it, and no key. */
  readonly dryRun?: boolean;
}

export interface KeyFacts {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly createdAt: string;
  /** "" for never. */
  readonly expiresAt: string;
}

export interface NewKey extends KeyFacts {
  readonly key: string;
}
