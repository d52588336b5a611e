import { BadInputError } from "../../contracts/errors.ts";

/** The JSON body of a control request, read field by field; what is left over at the end is refused. */
export class ControlInput {
  readonly #fields: Map<string, unknown>;

  constructor(value: unknown) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new BadInputError("The body must be a JSON object.");
    }
    this.#fields = new Map(Object.entries(value));
  }

  static parse(body: Uint8Array): ControlInput {
    const text = Buffer.from(body).toString();
    if (text.trim() === "") return new ControlInput({});
    try {
      return new ControlInput(JSON.parse(text));
    } catch (error) {
      if (error instanceof BadInputError) throw error;
      throw new BadInputError("The body must be a JSON object.", { cause: error });
    }
  }

  text(name: string): string {
    const value = this.optionalText(name);
    if (value === undefined) throw new BadInputError(`'${name}' is missing.`);
    return value;
  }

  optionalText(name: string): string | undefined {
    const value = this.#take(name);
    if (value === undefined || typeof value === "string") return value;
    throw new BadInputError(`'${name}' must be a text.`);
  }

  optionalNumber(name: string): number | undefined {
    const value = this.#take(name);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isFinite(value) && value >= 0) return value;
    throw new BadInputError(`'${name}' must be a number, 0 or more.`);
  }

  optionalFlag(name: string): boolean | undefined {
    const value = this.#take(name);
    if (value === undefined || typeof value === "boolean") return value;
    throw new BadInputError(`'${name}' must be true or false.`);
  }

  optionalTextOrNumber(name: string): string | number | undefined {
    return typeof this.#fields.get(name) === "string" ? this.optionalText(name) : this.optionalNumber(name);
  }

  optionalChoice<T extends string>(name: string, choices: readonly T[]): T | undefined {
    const value = this.optionalText(name);
    const chosen = choices.find((choice) => choice === value);
    if (value === undefined || chosen !== undefined) return chosen;
    throw new BadInputError(`'${name}' must be one of ${choices.join(", ")}; got '${value}'.`);
  }

  optionalObject(name: string): Record<string, unknown> | undefined {
    const value = this.#take(name);
    if (value === undefined) return undefined;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
    throw new BadInputError(`'${name}' must be an object.`);
  }

  optionalList(name: string): unknown[] | undefined {
    const value = this.#take(name);
    if (value === undefined || Array.isArray(value)) return value;
    throw new BadInputError(`'${name}' must be a list.`);
  }

  /** Call when all has been read: a misspelt name must not be taken for an absent one. */
  refuseRest(): void {
    const [name] = this.#fields.keys();
    if (name !== undefined) throw new BadInputError(`'${name}' is not known here.`);
  }

  #take(name: string): unknown {
    const value = this.#fields.get(name);
    this.#fields.delete(name);
    return value;
  }
}

/** Leaves out what is undefined, for options whose absence means something. */
export function present<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

/** The bytes of a file, given as `text` or as `base64`. */
export function readContent(input: ControlInput): string | Uint8Array {
  const [text, base64] = [input.optionalText("text"), input.optionalText("base64")];
  if ((text === undefined) === (base64 === undefined)) {
    throw new BadInputError("Give the content as either 'text' or 'base64'.");
  }
  if (text !== undefined) return text;
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(base64 ?? "")) throw new BadInputError("'base64' is not base64.");
  return Buffer.from(base64 ?? "", "base64");
}
