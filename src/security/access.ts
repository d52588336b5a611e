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

/** Who the client is, as far as it was proved. Credentials are never repeated. */
export type Identity =
  | { readonly status: "known"; readonly principal: Principal }
  /** No credentials, and some are needed. */
  | { readonly status: "anonymous" }
  /** Invalid credentials: unknown, removed, expired, forged. */
  | { readonly status: "unproved" }
  /** A valid token of a user without a role. */
  | { readonly status: "without-role"; readonly name: string };

export interface Comparing {
  /** Checks only secrets that cannot be guessed: our keys, tokens, and as many random bits. Anything else is unproved at once. */
  readonly onlyUnguessable: boolean;
}

/** Authenticates clients. */
export interface Access {
  /** false: no authentication is needed, and every client is the `local` principal. Read from disk at each call. */
  isRequired(): Promise<boolean>;
  /** Whether any key or token would be accepted. */
  hasWayIn(): Promise<boolean>;
  /** RemoteError if the keys of Entra ID cannot be fetched, ConflictError if our own cannot be read: then no client is accepted. */
  authenticate(credentials: Credentials, options?: Comparing): Promise<Identity>;
  /** For the sign-in page. Returns undefined for an unknown key. */
  signIn(key: string, options?: Comparing): Promise<Session | undefined>;
  /** Whether the key of a principal is still valid. */
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
  /** Returns the key itself, once. BadInputError if the name is taken. */
  create(
    wanted: { readonly name: string; readonly role: Role; readonly expiresAt: string },
    options?: KeyOptions,
  ): Promise<NewKey>;
  /** By id or name; NotFoundError if there is none. From then on no process accepts it. */
  remove(idOrName: string, options?: KeyOptions): Promise<KeyFacts>;
}

export interface KeyOptions {
  /** true: returns what would be created, without a key. */
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
