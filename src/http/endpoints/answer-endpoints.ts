import type { AnswerModelView } from "../../app/answer-model.ts";
import type { App } from "../../app/app.ts";
import { BadInputError } from "../../contracts/errors.ts";
import { answerModelPage } from "../pages/answer-model-page.ts";
import { type Endpoint, endpoint, ok } from "../routing/endpoint.ts";
import { withDefault } from "../routing/parameters.ts";
import { text, trueOrFalse } from "../routing/values.ts";

const PATH = "/v2/answers";

/** As JSON and for the page. */
export type AnswerModelJson = ReturnType<typeof toJson>;

/** Who writes the answers of chats. */
export function answerEndpoints({ answerModels }: App): Endpoint[] {
  return [
    endpoint({
      path: PATH,
      forReaders: true,
      methods: ["GET"],
      formats: ["json", "html"],
      description:
        "Lists the language model that writes answers, if one does, and those that Ollama and LM Studio serve on this machine, at their default ports. `server` of the one that writes is `settings` or `page`: where it was chosen.",
      changes: null,
      role: "admin",
      query: {},
      examples: ["?format=json", "?format=html"],
      run: async () => ok(toJson(await answerModels.view())),
      html: ({ data }, _args, frame) => answerModelPage(data, frame),
    }),
    endpoint({
      path: `${PATH}/choose`,
      methods: ["POST", "GET"],
      formats: ["json", "html"],
      description:
        "Lets a language model of this machine write the answers, at once and after a restart; without a model, answers are quotes again. Settings that name a model win.",
      changes: "Writes, or deletes, index/answer-model.json.",
      destroys: ({ dry_run }) => !dry_run,
      role: "admin",
      query: {
        server: withDefault(text, "", "Ollama or LM Studio."),
        model: withDefault(text, "", "The model, as the server calls it; empty: none."),
        dry_run: withDefault(trueOrFalse, false, "true only tells whether it could be chosen."),
      },
      examples: ["?server=Ollama&model=llama3.2&dry_run=true"],
      async run({ server, model, dry_run }) {
        if (model !== "" && server === "") throw new BadInputError("Missing 'server'.");
        const wanted = model === "" ? undefined : { server, model };
        return ok(toJson(await answerModels.choose(wanted, { dryRun: dry_run })));
      },
      html: ({ data }, _args, frame) => answerModelPage(data, frame),
    }),
  ];
}

/** The one that writes comes first. */
function toJson({ current, from, found }: AnswerModelView) {
  const others = found.filter(({ model }) => model !== current?.model);
  return [
    ...(current ? [{ model: current.model, server: from, base_url: current.baseUrl, writes: true }] : []),
    ...others.map(({ model, server }) => ({ model, server, base_url: "", writes: false })),
  ];
}
