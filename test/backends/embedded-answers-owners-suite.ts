import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { EmbeddedBackend } from "../../src/backends/embedded/embedded-backend.ts";
import type { Principal, Role } from "../../src/contracts/access.ts";
import { type OpenHouse, openBackend } from "./embedded-fixture.ts";

export const person = (name: string, role: Role = "operate"): Principal => ({ kind: "key", id: name, name, role });

interface Told {
  readonly status: number;
  readonly json: { readonly id: string; readonly error?: { readonly message: string; readonly code: string } };
}

export async function tell(backend: EmbeddedBackend, by: Principal, what: string, body?: object): Promise<Told> {
  const [method = "GET", path = "/"] = what.split(" ");
  const request = new Request(`http://here${path}`, { method, ...(body && { body: JSON.stringify(body) }) });
  const response = await backend.wire(request, { by });
  return { status: response.status, json: (await response.json()) as Told["json"] };
}

/** What one key leaves behind is bounded, whatever it asks, and takes nothing away from the others. */
export function quotaSuite(name: string, openStores: OpenHouse): void {
  describe(`a key has a quota for what it leaves: ${name}`, () => {
    let folder = "";
    let backend: EmbeddedBackend;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), "answers-"));
      const quota = { answers: 3, conversations: 2, bytes: 20_000 };
      backend = await openBackend(await openStores(join(folder, "index")), join(folder, "files"), { quota });
    });
    after(async () => {
      await backend?.close();
      await rm(folder, { recursive: true, force: true });
    });

    const ask = async (by: Principal, input = "Hello"): Promise<string> => {
      const { status, json } = await tell(backend, by, "POST /responses", { input });
      assert.equal(status, 200);
      return json.id;
    };
    const kept = async (by: Principal, ids: readonly string[]): Promise<boolean[]> => {
      const there: boolean[] = [];
      for (const id of ids) there.push((await tell(backend, by, `GET /responses/${id}`)).status === 200);
      return there;
    };

    test("an answer that is larger than all of it is kept until the next one", async () => {
      const lea = person("lea");
      const large = await ask(lea, "long ".repeat(8000));
      assert.deepEqual(await kept(lea, [large]), [true]);
      const next = await ask(lea);
      assert.deepEqual(await kept(lea, [large, next]), [false, true]);
    });

    test("of more answers than that, its oldest are forgotten", async () => {
      const [ann, bob] = [person("ann"), person("bob")];
      const his = await ask(bob);
      const hers: string[] = [];
      for (let at = 0; at < 5; at++) hers.push(await ask(ann));
      assert.deepEqual(await kept(ann, hers), [false, false, true, true, true]);
      assert.deepEqual(await kept(bob, [his]), [true]);
    });

    test("or of larger ones", async () => {
      const eve = person("eve");
      const ids = [await ask(eve, "long ".repeat(3000)), await ask(eve), await ask(eve, "long ".repeat(2000))];
      assert.deepEqual(await kept(eve, ids), [false, true, true]);
    });

    test("conversations are never taken away, but there are no more than that", async () => {
      const [olga, oscar] = [person("olga"), person("oscar")];
      const first = (await tell(backend, olga, "POST /conversations", {})).json.id;
      assert.equal((await tell(backend, olga, "POST /conversations", {})).status, 200);
      const refused = await tell(backend, olga, "POST /conversations", {});
      assert.deepEqual([refused.status, refused.json.error?.code], [429, "insufficient_quota"]);
      assert.match(refused.json.error?.message ?? "", /as many conversations as one may have/);
      assert.equal((await tell(backend, oscar, "POST /conversations", {})).status, 200);
      await tell(backend, person("ada", "admin"), `DELETE /conversations/${first}`);
      assert.equal((await tell(backend, olga, "POST /conversations", {})).status, 200);
    });

    test("and they grow to a size", async () => {
      const oleg = person("oleg");
      const { id } = (await tell(backend, oleg, "POST /conversations", {})).json;
      const items = [{ role: "user", content: "long ".repeat(5000) }];
      assert.equal((await tell(backend, oleg, `POST /conversations/${id}/items`, { items })).status, 200);
      assert.equal((await tell(backend, oleg, `POST /conversations/${id}/items`, { items })).status, 429);
      const asked = { input: "Hello", conversation: id };
      assert.equal((await tell(backend, oleg, "POST /responses", asked)).status, 429);
      assert.equal((await tell(backend, oleg, "POST /responses", { input: "Hello" })).status, 200);
    });
  });
}
