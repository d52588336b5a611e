// Errors arrive in another process as they were sent.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  BadInputError,
  CancelledError,
  ConflictError,
  DamagedError,
  explain,
  NotFoundError,
  RemoteError,
} from "../../src/contracts/errors.ts";
import { packError, unpackError } from "../../src/lib/error-codec.ts";

class OwnError extends RemoteError {}

const cases = [
  { error: new BadInputError("bad"), kind: BadInputError },
  { error: new CancelledError("cancelled"), kind: CancelledError },
  { error: new ConflictError("held"), kind: ConflictError },
  { error: new NotFoundError("gone"), kind: NotFoundError },
  { error: new RemoteError("down", { cause: new OwnError("refused", { cause: "why" }) }), kind: RemoteError },
  { error: new OwnError("down"), kind: RemoteError },
  { error: new DamagedError("It is damaged.", "Make it anew."), kind: DamagedError },
  { error: new TypeError("a slip"), kind: Error },
  { error: "not an error", kind: Error },
];

for (const { error, kind } of cases) {
  test(`${String(error)} arrives as it was sent`, () => {
    const arrived = unpackError(structuredClone(packError(error)));
    assert.equal(arrived.constructor, kind);
    assert.equal(explain(arrived), explain(error));
    if (error instanceof Error) assert.equal(arrived.stack, error.stack);
  });
}

test("what is to be done about damage arrives, too", () => {
  const arrived = unpackError(packError(new DamagedError("It is damaged.", "Make it anew.")));
  assert.ok(arrived instanceof DamagedError);
  assert.deepEqual([arrived.problem, arrived.remedy], ["It is damaged.", "Make it anew."]);
});

test("a cause that leads back to itself does not go on for ever", () => {
  const error = new Error("round and round");
  error.cause = error;
  assert.equal(unpackError(packError(error)).message, "round and round");
});
