import { BadInputError } from "../contracts/errors.ts";
import { parseDomainId } from "../contracts/ids.ts";
import type { Command } from "./command.ts";
import { openApp } from "./open-app.ts";
import { showAnswer } from "./show-answer.ts";

export const queryCommand: Command = {
  name: "query",
  arguments: ["DOMAIN", "TEXT"],
  summary: "Searches a domain and prints the passages with their sources.",
  options: {
    results: { value: "number", default: "5", help: "How many passages, 1 to 50." },
    json: { help: "Prints the answer as JSON." },
  },
  examples: ['lockstep query DEMO "How many vacation days do I get?"'],
  async run(call) {
    const [domain = "", text = ""] = call.positionals;
    const limit = Number(call.text("results"));
    if (!Number.isInteger(limit) || limit < 1 || limit > 50) {
      throw new BadInputError(`Invalid value '${call.text("results")}' for --results. Accepted: 1 to 50.`);
    }
    const app = await openApp();
    try {
      const answer = await app.query({ text, limit, domainId: parseDomainId(domain), vectorStoreId: undefined });
      if (call.flag("json")) process.stdout.write(`${JSON.stringify(answer, null, 2)}\n`);
      else showAnswer(answer.sources);
      return answer.sources.length > 0 ? 0 : 1;
    } finally {
      await app.close();
    }
  },
};
