import assert from "node:assert/strict";

/** What the published schemas say of a value; throws when it is otherwise. `at` says where it is. */
export type Check = (value: unknown, at: string) => void;

export const text: Check = (value, at) => assert.equal(typeof value, "string", at);
export const truth: Check = (value, at) => assert.equal(typeof value, "boolean", at);
export const number: Check = (value, at) => assert.ok(typeof value === "number" && Number.isFinite(value), at);
export const count: Check = (value, at) => assert.ok(Number.isSafeInteger(value) && Number(value) >= 0, at);
/** Unix seconds, not milliseconds. */
export const instant: Check = (value, at) => {
  count(value, at);
  assert.ok(Number(value) > 1e9 && Number(value) < 1e11, at);
};

export function oneOf(...accepted: readonly unknown[]): Check {
  return (value, at) => assert.ok(accepted.includes(value), `${at} is ${JSON.stringify(value)}`);
}

export function orNull(check: Check): Check {
  return (value, at) => {
    if (value !== null) check(value, at);
  };
}

export function listOf(check: Check): Check {
  return (value, at) => {
    assert.ok(Array.isArray(value), at);
    for (const [i, one] of value.entries()) check(one, `${at}[${i}]`);
  };
}

export function anyOf(...checks: readonly Check[]): Check {
  return (value, at) => {
    const fits = checks.some((check) => {
      try {
        check(value, at);
        return true;
      } catch {
        return false;
      }
    });
    assert.ok(fits, `${at} is ${JSON.stringify(value)}`);
  };
}

export function mapOf(check: Check): Check {
  return (value, at) => {
    for (const [key, one] of Object.entries(asObject(value, at))) check(one, `${at}.${key}`);
  };
}

/** All of `required`, any of `optional`, and nothing else: what is unset is left out or null exactly as the schemas have it. */
export function object(
  required: Readonly<Record<string, Check>>,
  optional: Readonly<Record<string, Check>> = {},
): Check {
  return (value, at) => {
    const fields = asObject(value, at);
    for (const [name, check] of Object.entries(required)) {
      assert.ok(name in fields, `${at} lacks ${name}`);
      check(fields[name], `${at}.${name}`);
    }
    for (const [name, one] of Object.entries(fields)) {
      if (name in required) continue;
      const check = optional[name] ?? assert.fail(`${at} has '${name}', which no schema knows`);
      check(one, `${at}.${name}`);
    }
  };
}

export function asObject(value: unknown, at: string): Record<string, unknown> {
  assert.ok(typeof value === "object" && value !== null && !Array.isArray(value), `${at} is no object`);
  return value as Record<string, unknown>;
}
