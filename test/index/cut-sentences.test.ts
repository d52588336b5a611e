// Answers quote whole sentences: these end neither after an abbreviation nor within parentheses.
import assert from "node:assert/strict";
import { test } from "node:test";
import { cutSentences } from "../../src/index/answers/statements-of.ts";

const CASES: readonly (readonly string[])[] = [
  ["Its toner is changed by the facility management (ext. 4411).", "Call early."],
  ["The pump (see sect. Maintenance. Do it yearly.) is loud.", "It stands outside."],
  ["Use approx. 5 ml, e.g. with a spoon.", "Then wait."],
  ["Siehe Abs. 3 Nr. 4 der Satzung.", "Das gilt z. B. für Dr. Müller.", "Am 3. März endet es."],
  ["Fig. 3 shows it.", "Mr. Smith went."],
  ["No.", "That is wrong."],
  ["Open the lid (gently.", "A parenthesis that nobody closes ends with its sentence."],
];

for (const sentences of CASES) {
  test(sentences.join(" "), () => {
    assert.deepEqual(
      cutSentences(sentences.join(" ")).map((one) => one.trim()),
      sentences,
    );
  });
}
