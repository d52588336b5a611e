/** A language model behind an address that speaks the wire protocol. */
export interface ChatModel {
  /** The one that answers when a request names none. */
  readonly name: string;
  /** What it is told when it answers from passages and the request has no instructions; "" for our own. */
  readonly instructions: string;
  /** undefined: the model's own. */
  readonly temperature: number | undefined;
  /** What the address calls the number of tokens an answer may have. */
  readonly limitField: "max_tokens" | "max_completion_tokens";
  /** `POST /chat/completions`. Never rejects: trouble on the way is an error response. */
  complete(request: Request): Promise<Response>;
}
