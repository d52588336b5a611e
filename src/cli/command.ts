import { parseArgs } from "node:util";
import { BadInputError } from "../contracts/errors.ts";

export interface OptionSpec {
  /** `--mode <value>` when it takes one, a flag otherwise. */
  readonly value?: string;
  /** Accepted values; any if left out. */
  readonly choices?: readonly string[];
  readonly help: string;
  readonly default?: string;
}

/** One command of the CLI: what it is called with, and what it does. */
export interface Command {
  readonly name: string;
  /** Positional arguments, in order. Those in brackets, `[DOMAIN]`, are optional; the last one, `URL…`, may be repeated. */
  readonly arguments: readonly string[];
  readonly options: Readonly<Record<string, OptionSpec>>;
  readonly examples: readonly string[];
  /** Returns the exit code. */
  run(call: Call): Promise<number>;
}

/** The domain or certificate is older than its `max_age` allows, and nothing else is wrong. */
export const LATE_EXIT_CODE = 4;

export interface Call {
  readonly positionals: readonly string[];
  /** Returns the given value or the default; undefined if neither exists. */
  text(option: string): string | undefined;
  flag(option: string): boolean;
}

/** Throws BadInputError with the problem and the correct usage. */
export function readCall(command: Command, args: readonly string[]): Call {
  const options = Object.fromEntries(
    Object.entries(command.options).map(([name, spec]) => [name, { type: spec.value ? "string" : "boolean" } as const]),
  );
  const parsed = parse(command, args, options);
  const { positionals } = parsed;
  const needed = command.arguments.filter((name) => !name.startsWith("[")).length;
  const most = command.arguments.at(-1)?.endsWith("…") ? positionals.length : command.arguments.length;
  if (positionals.length < needed || positionals.length > most) {
    const problem = positionals.length < needed ? "Something is missing" : "Too many arguments";
    throw new BadInputError(`${problem}. Usage: ${usageLine(command)}`);
  }
  for (const [name, spec] of Object.entries(command.options)) checkChoice(name, spec, parsed.values[name]);
  return {
    positionals,
    text: (option) => stringOf(parsed.values[option]) ?? command.options[option]?.default,
    flag: (option) => parsed.values[option] === true,
  };
}

function usageLine(command: Command): string {
  const options = Object.keys(command.options).length > 0 ? " [options]" : "";
  return ["lockstep", command.name, ...command.arguments].join(" ") + options;
}

export function helpText(command: Command, summary: string): string {
  const lines = [summary, "", `Usage: ${usageLine(command)}`];
  const rows = Object.entries(command.options).map(([name, spec]): [string, string] => {
    const choices = spec.choices ? ` (${spec.choices.join(" | ")})` : "";
    const preset = spec.default === undefined ? "" : ` [default: ${spec.default}]`;
    return [`--${name}${spec.value ? ` <${spec.value}>` : ""}`, `${spec.help}${choices}${preset}`];
  });
  rows.push(["--help", "Shows this text."]);
  const width = Math.max(...rows.map(([left]) => left.length));
  lines.push("", "Options:", ...rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`));
  if (command.examples.length > 0) lines.push("", "Examples:", ...command.examples.map((line) => `  ${line}`));
  return `${lines.join("\n")}\n`;
}

function parse(
  command: Command,
  args: readonly string[],
  options: Record<string, { type: "string" | "boolean" }>,
): { values: Record<string, unknown>; positionals: string[] } {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    const reason = error instanceof Error ? sayPlainly(error.message, command) : String(error);
    const known = Object.keys(command.options).map((name) => `--${name}`);
    throw new BadInputError(`${reason}. '${command.name}' takes: ${[...known, "--help"].join(", ")}.`);
  }
}

/** Node's messages about options are meant for programmers. */
function sayPlainly(message: string, { options }: Command): string {
  const [, name = "", trouble = ""] =
    /^Option '(?:-\w, )?--([\w-]+)[^']*' argument (is ambiguous|missing)/.exec(message) ?? [];
  const value = options[name]?.value;
  if (!value) return message.split(". To specify")[0] ?? message;
  return `--${name} needs a value (${value})${trouble === "missing" ? "" : "; what follows it begins with a dash"}`;
}

function checkChoice(name: string, spec: OptionSpec, value: unknown): void {
  if (!spec.choices || value === undefined || spec.choices.includes(String(value))) return;
  throw new BadInputError(`Invalid value '${String(value)}' for --${name}. Accepted: ${spec.choices.join(", ")}.`);
}

function stringOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
