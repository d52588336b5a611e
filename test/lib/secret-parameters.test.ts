// Secrets in addresses are recognised by name and value, and never shown.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findAddressSecret, secretIn, withoutSecrets } from "../../src/lib/secret-parameters.ts";

/** Whatever they hold. */
const SECRETS = [
  ...[
    "private_token",
    "privateToken",
    "PRIVATE-TOKEN",
    "feed_token",
    "rss_token",
    "job_token",
    "x-auth-token",
    "token",
  ],
  ...["access_key", "accessKey", "AWSAccessKeyId", "api_key", "x-api-key", "apikey", "subscription-key", "authkey"],
  ...["client_secret", "app_secret", "secret", "password", "user%5Bpassword%5D", "pwd", "jwt", "sig", "signature"],
  ...["personal_access_token", "csrf_token", "X-Amz-Credential", "x-goog-signature", "secret_key", "t%6Fken"],
];
const SESSIONS = [
  "sessionid",
  "session_id",
  "PHPSESSID",
  "jsessionid",
  "ASP.NET_SessionId",
  "ASPSESSIONIDQQ",
  "sessid",
];

test("some names say that what follows is secret", () => {
  for (const name of SECRETS) assert.equal(secretIn(name, "hunter2"), "secret", name);
  for (const name of SESSIONS) assert.equal(secretIn(name, "hunter2"), "session", name);
});

/** Each of them with each value below. */
const AMBIGUOUS = ["key", "code", "auth", "pass", "authorization", "invite_code", "share-key"];
const ISSUED = [
  "sk-proj-4fGh7Jk2Lm9QzX81",
  "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
  "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
  "glpat-xY3kQ9zLmN2pRsT4uVwX",
  "xoxb-2048-1024-AbCdEfGh",
  "AKIAIOSFODNN7EXAMPLE",
  "AIzaSyDdI0hCZtE6vySjMm-WEfRq3CPzqKqqsHI",
  "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjMifQ.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
  "9f86d081884c7d659a2feaa0c55ad015",
  "550e8400-e29b-41d4-a716-446655440000",
  "SplxlOBeZQQYbYS6WxSbIA",
  "4/0AX4XfWhQk3nB7_vT2mZ-pL9",
  "k3j9d8f7g6h5s4a2q1",
  "dGhpcyBpcyBhIHNlY3JldCBrZXk9PQ%3D%3D",
  "JBSWY3DPEHPK3PXP",
  "Bearer%20hunter2hunter2",
  "Zm9vYmFy+MTIz/NDU2Nzg5MA==",
];
const NAMED = [
  ...["red", "404", "DE", "en-GB", "basic", "hunter2", "C%2B%2B", "", "2026-11-18", "main-navigation-settings-page"],
  ...[
    "Annual-Report-2024-Final-Version",
    "getElementByIdAndName",
    "20261118T000736Z",
    "9783161484100",
    "1.2.840.113549.1.9.16",
  ],
  ...["DE89370400440532013000", "1HGCM82633A004352", "s41586-020-2649-2", "dQw4w9WgXcQ", "Rechtsschutzversicherung"],
  ...[
    "print(%22hello%20world%22)",
    "sk-learn-user-guide",
    "sk-learn-0-24",
    "correct horse battery staple",
    "key-takeaways",
  ],
];

test("others say so only with a value that was issued, or drawn at random", () => {
  for (const name of AMBIGUOUS) {
    for (const value of ISSUED) assert.equal(secretIn(name, value), "secret", `${name}=${value}`);
    for (const value of NAMED) assert.equal(secretIn(name, value), undefined, `${name}=${value}`);
  }
  assert.deepEqual(
    [secretIn("sid", "9f86d081884c7d659a2feaa0c55ad015"), secretIn("sid", "12")],
    ["session", undefined],
  );
});

test("random values of every alphabet look random, nearly always", () => {
  const alphabets = [
    "0123456789abcdef",
    "abcdefghijklmnopqrstuvwxyz0123456789",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
  ];
  let seed = 7;
  const draw = (letters: string): string => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return letters.charAt(Math.floor((seed / 2147483648) * letters.length));
  };
  for (const letters of alphabets) {
    const values = Array.from({ length: 500 }, () => Array.from({ length: 32 }, () => draw(letters)).join(""));
    const missed = values.filter((value) => secretIn("key", value) !== "secret");
    assert.ok(missed.length <= 25, `${missed.length} of 500: ${missed.slice(0, 5).join(" ")}`);
  }
});

const OTHERS = [
  "page_token=CAUQAA",
  "nextToken=9f86d081884c7d659a2feaa0c55ad015",
  "resumptionToken=x!y",
  "q=token",
  "id=550e8400-e29b-41d4-a716-446655440000",
];
const PAGES = [
  "sessionid=42",
  "session_id=7",
  "forgot_password=1",
  "token=",
  "keyword=password",
  "tokens=3",
  "author=jwt",
  "s=cats",
  "monkey=red",
  "design_token=red",
];

test("what leads to pages is left alone, and the rest of a query as it was written", () => {
  for (const query of [...OTHERS, ...PAGES, ...NAMED.map((value) => `key=${value}&b=%7e`)]) {
    assert.equal(withoutSecrets(query), query);
    assert.equal(findAddressSecret(new URL(`https://example.com/?${query}`)), undefined, query);
  }
  assert.equal(withoutSecrets("b=%7e&key=red&feed_token=hidden&&a=+"), "b=%7e&key=red&a=+");
});

test("it is said what is wrong with an address, never the secret itself", () => {
  const wrong = [
    "https://bob:hunter2@example.com/",
    "https://hunter2@example.com/",
    "https://example.com/a?x=1&feed_token=hunter2",
    "https://example.com/a#access_token=hunter2&expires=1",
    "https://example.com/a;jsessionid=hunter2",
    "https://example.com/a?sessionid=hunter2",
    "https://a.blob.core.windows.net/c/a?sv=1&sig=hunter2",
  ];
  for (const address of wrong) assert.match(findAddressSecret(new URL(address)) ?? "", /^(?!.*hunter2)\w/, address);
});
