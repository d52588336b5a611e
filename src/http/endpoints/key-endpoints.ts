import type { App } from "../../app/app.ts";
import { ROLES } from "../../contracts/access.ts";
import type { KeyFacts } from "../../security/access.ts";
import { readExpiry } from "../../security/key-store.ts";
import { keysPage } from "../pages/keys-page.ts";
import { type Endpoint, endpoint, ok, okPart } from "../routing/endpoint.ts";
import { listing, takePart } from "../routing/listing.ts";
import { required, withDefault } from "../routing/parameters.ts";
import { oneOf, text, trueOrFalse, words } from "../routing/values.ts";

const PATH = "/v2/keys";
const COLUMNS = ["name", "role", "created_utc", "expires_utc", "key_id"] as const;

/** A key as the endpoints return it: everything but the key itself. */
export interface ShownKey {
  readonly key_id: string;
  readonly name: string;
  readonly role: string;
  readonly created_utc: string;
  readonly expires_utc: string;
}

/** API keys. */
export function keyEndpoints(app: App): Endpoint[] {
  return [list(app), create(app), remove(app)];
}

function list({ access }: App): Endpoint {
  return endpoint({
    path: PATH,
    methods: ["GET"],
    formats: ["json", "html", "ui"],
    description:
      "Lists the API keys: who may come in, and as what. The keys themselves are not kept, only their hashes.",
    changes: null,
    role: "admin",
    query: listing(COLUMNS),
    examples: ["?format=json", "?format=ui"],
    run: async (args) => okPart(takePart((await access.keys.list()).map(toShown), args)),
    ui: keysPage,
  });
}

function create({ access }: App): Endpoint {
  return endpoint({
    path: `${PATH}/create`,
    methods: ["POST"],
    formats: ["json"],
    description: "Makes an API key. The answer holds it, this once: it cannot be shown again.",
    changes: "Adds a key to security/keys.json. From the first key on, everybody has to bring one.",
    role: "admin",
    query: { dry_run: withDefault(trueOrFalse, false, "true only tells whether it could be made.") },
    body: {
      name: required(words, "Who or what it is for."),
      role: required(
        oneOf(ROLES),
        "read queries; operate also crawls and uploads; admin also changes and deletes domains and manages keys.",
      ),
      expires: withDefault(text, "", "The day or instant from which it is not accepted any more; empty: never."),
    },
    examples: [
      `curl '{origin}${PATH}/create' -H 'content-type: application/json' -d '{"name":"reporting","role":"read"}'`,
    ],
    async run({ body: { name, role, expires }, dry_run }) {
      const wanted = { name, role, expiresAt: readExpiry(expires) };
      const { key, ...facts } = await access.keys.create(wanted, { dryRun: dry_run });
      return ok({ ...toShown(facts), key });
    },
  });
}

function remove({ access }: App): Endpoint {
  return endpoint({
    path: `${PATH}/delete`,
    methods: ["DELETE", "GET"],
    formats: ["json"],
    description: "Removes an API key. From then on it is not accepted, and who signed in with it is signed out.",
    changes: "Takes the key out of security/keys.json.",
    role: "admin",
    query: {
      key_id: required(words, "Its id, or its name."),
      dry_run: withDefault(trueOrFalse, false, "true only returns what is known of the key."),
    },
    examples: ["?key_id=0123456789ab&dry_run=true"],
    run: async ({ key_id, dry_run }) => ok(toShown(await access.keys.remove(key_id, { dryRun: dry_run }))),
  });
}

function toShown({ id, name, role, createdAt, expiresAt }: KeyFacts): ShownKey {
  return { key_id: id, name, role, created_utc: createdAt, expires_utc: expiresAt };
}
