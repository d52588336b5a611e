// An address that guesses keys is slowed down, and learns nothing about weak keys.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { readConfig } from "../../src/app/config.ts";
import { openAccess } from "../../src/security/open-access.ts";
import { ask, type Reply } from "./ask.ts";
import { type Served, serveScripted } from "./scripted-app.ts";

const WEAK = "correct-horse-battery-staple";
const STRONG = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

const bring = (served: Served, secret: string): Promise<Reply> =>
  ask(served.url, "GET /v2/domains?format=json", { headers: { authorization: `Bearer ${secret}` } });
const signIn = (served: Served, key: string): Promise<Reply> =>
  ask(served.url, "POST /sign-in", { form: { key }, headers: { origin: served.url } });

async function slowedBy(adminKey: string, work: (served: Served) => Promise<void>): Promise<void> {
  const served = await serveScripted({ settings: { ADMIN_API_KEY: adminKey, RATE_LIMIT_PER_SECOND: "0" } });
  try {
    const wrong = Array.from({ length: 60 }, (_, at) => at);
    await Promise.all(wrong.flatMap((at) => [bring(served, `wrong ${at}`), signIn(served, `wrong ${at}`)]));
    await work(served);
  } finally {
    await served.close();
  }
}

type Bring = (served: Served, secret: string) => Promise<Reply>;

/** What is answered while the address is slowed. It may try again every three seconds: then another wrong one is heard, too. */
async function whileSlowed(served: Served, bringOne: Bring, secret: string, guess = bringOne): Promise<Reply> {
  const isSlowed = async (): Promise<boolean> => (await guess(served, "wrong again")).status === 429;
  for (;;) {
    while (!(await isSlowed()));
    const reply = await bringOne(served, secret);
    if (await isSlowed()) return reply;
  }
}

describe("an address that guessed too often", () => {
  it("is heard with keys that nobody guesses", async () => {
    await slowedBy(STRONG, async (served) => {
      const { key } = await served.app.access.keys.create({ name: "ann", role: "read", expiresAt: "" });
      for (const secret of [STRONG, key]) {
        assert.equal((await bring(served, secret)).status, 200);
        assert.equal((await signIn(served, secret)).status, 303);
      }
      assert.equal((await whileSlowed(served, bring, STRONG.replace("9", "8"))).status, 429);
    });
  });

  it("is not told whether it guessed a weak one", async () => {
    await slowedBy(WEAK, async (served) => {
      assert.equal((await whileSlowed(served, bring, WEAK)).status, 429);
      const page = await whileSlowed(served, signIn, WEAK);
      assert.deepEqual([page.status, page.headers.get("set-cookie")], [429, null]);
      const { key } = await served.app.access.keys.create({ name: "ann", role: "read", expiresAt: "" });
      assert.equal((await bring(served, key)).status, 200);
    });
  });

  it("guessed by one way, and is slowed by the other, too", async () => {
    for (const [one, other] of [
      [bring, signIn],
      [signIn, bring],
    ] as const) {
      const served = await serveScripted({ settings: { ADMIN_API_KEY: WEAK, RATE_LIMIT_PER_SECOND: "0" } });
      try {
        await Promise.all(Array.from({ length: 60 }, (_, at) => one(served, `wrong ${at}`)));
        assert.equal((await whileSlowed(served, other, WEAK, one)).status, 429);
      } finally {
        await served.close();
      }
    }
  });

  it("a weak one works as long as nobody guesses", async () => {
    const served = await serveScripted({ settings: { ADMIN_API_KEY: WEAK } });
    assert.equal((await bring(served, WEAK)).status, 200);
    assert.equal((await signIn(served, WEAK)).status, 303);
    await served.close();
  });

  it("whatever it spells, only its spelling counts: a weak key of the right length is not compared, either", async () => {
    const adminKey = "Correct-Horse-Battery-Staple";
    const access = openAccess({ folder: "/nowhere", adminKey, entra: null, withoutKeys: "nobody" });
    const credentials = { authorization: `Bearer ${adminKey}`, apiKey: undefined, session: undefined };
    assert.equal((await access.authenticate(credentials, { onlyUnguessable: true })).status, "unproved");
    assert.equal((await access.authenticate(credentials)).status, "known");
    await access.close();
  });
});

describe("ADMIN_API_KEY", () => {
  const warned = (key: string): string => readConfig({ ADMIN_API_KEY: key }).warnings.join();

  it("that could be guessed starts with a warning, and the command that makes a better one", () => {
    const weak = [
      WEAK,
      "Correct-Horse-Battery-Staple",
      "k3y-That-nobody-Guesses!",
      "password1password2password3",
      "0123456789".repeat(3),
      "0123456789abcdef0123456789abcdef",
      "fedcba9876543210fedcba9876543210",
      "deadbeefcafebabe0123deadbeefcafe",
      "0123456789abcdefABCDEF0123456789",
      "A1b2C3d4E5f6G7h8I9j0K1l2",
      "abcdefghijklmnopqrstuvwxyz",
    ];
    for (const key of weak) {
      assert.match(warned(key), /ADMIN_API_KEY has fewer than 128 random bits.*openssl rand -hex 32/, key);
      assert.ok(!warned(key).includes(key), "the key itself is not told");
    }
  });

  it("of 128 random bits or more starts without", () => {
    // As good as random, and the same in every run.
    const long = Array.from({ length: 3000 }, (_, at) => createHash("sha256").update(`key ${at}`).digest());
    for (const bytes of long) {
      for (const encoding of ["hex", "base64", "base64url"] as const)
        assert.equal(warned(bytes.toString(encoding)), "");
      const short = bytes.subarray(0, 16);
      for (const key of [short.toString("hex").toUpperCase(), short.toString("base64")])
        if (key.length >= 24) assert.equal(warned(key), "", key);
    }
  });
});

describe("a key that is removed", () => {
  it("ends the streams it opened, and no others", async () => {
    const served = await serveScripted({ settings: { RATE_LIMIT_PER_SECOND: "0" } });
    try {
      const { keys } = served.app.access;
      await keys.create({ name: "ada", role: "admin", expiresAt: "" });
      const key = async (name: string): Promise<string> =>
        (await keys.create({ name, role: "operate", expiresAt: "" })).key;
      const [ann, bob] = [await key("ann"), await key("bob")];
      let stopped = 0;
      const wire = async (): Promise<Response> => {
        const body = new ReadableStream<Uint8Array>({
          start: (controller) => controller.enqueue(new TextEncoder().encode("data: {}\n\n")),
          cancel: () => {
            stopped += 1;
          },
        });
        return new Response(body, { headers: { "content-type": "text/event-stream" } });
      };
      served.script.wire = wire;
      const open = async (secret: string): Promise<ReadableStreamDefaultReader<Uint8Array>> => {
        const headers = { authorization: `Bearer ${secret}` };
        const { body } = await fetch(`${served.url}/openai/v1/responses/resp_1?stream=true`, { headers });
        return (body ?? assert.fail()).getReader();
      };
      const [hers, his] = [await open(ann), await open(bob)];
      for (const reader of [hers, his]) assert.match(new TextDecoder().decode((await reader.read()).value), /^data/);
      await keys.remove("ann");
      let text = "";
      for (let step = await hers.read(); !step.done; step = await hers.read())
        text += new TextDecoder().decode(step.value);
      assert.match(text, /^\n\n: The key that opened this stream was removed/);
      assert.equal(stopped, 1, "and what fed it hears of it");
      await his.cancel();
    } finally {
      await served.close();
    }
  });

  it("ends the watching of a job, which goes on", async () => {
    const served = await serveScripted();
    try {
      const { keys } = served.app.access;
      await keys.create({ name: "ada", role: "admin", expiresAt: "" });
      const { key } = await keys.create({ name: "ann", role: "operate", expiresAt: "" });
      const going = Promise.withResolvers<void>();
      const { jobId } = await served.app.runner.start(
        { router: "crawler", action: "crawl", object: "DEMO", dryRun: false, endpoint: "/test" },
        async () => {
          await going.promise;
          return { ok: true, error: "", data: {} };
        },
      );
      const headers = { authorization: `Bearer ${key}` };
      const { body } = await fetch(`${served.url}/v2/jobs/monitor?job_id=${jobId}&format=stream`, { headers });
      const reader = (body ?? assert.fail()).getReader();
      await reader.read();
      await keys.remove("ann");
      for (let step = await reader.read(); !step.done; step = await reader.read());
      assert.equal((await served.app.jobs.get(jobId)).state, "running");
      going.resolve();
    } finally {
      await served.close();
    }
  });
});
