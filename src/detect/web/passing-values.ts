const LINK = /\]\([^()\s]{0,8192}/g;
/** A parameter's value (`?a=…`, `;a=…`), or a part of the path that looks like an id. */
const VALUE =
  /([?&;][^?&;=#]{1,100}=)([^?&;#]{0,2048})|(\/)((?=[\w~-]{0,64}\d)(?=[\w~-]{0,64}[a-z])[\w~-]{16,256})(?=[/?#;]|$)/gi;
const SHORTEST = 6;
/** What is there only once has to look like nobody's choice. */
const SHORTEST_ALONE = 16;

interface Links {
  /** The text, its links without values. */
  readonly rest: string;
  readonly values: readonly { readonly name: string; readonly value: string }[];
}

/**
 * Do two texts of one page say the same, but for values in their links that are other ones every time (sessions, tokens, times)? By evidence:
 * all links that have such a value have another one now, and nothing else differs. `?page=2` and `?page=3` are short, and two.
 */
export function differsInPassingValues(before: string, now: string): boolean {
  const [old, fresh] = [readLinks(before), readLinks(now)];
  if (old.rest !== fresh.rest) return false;
  const pairs = old.values.map(({ name, value }, at) => ({ name, value, next: fresh.values[at]?.value ?? "" }));
  return [...Map.groupBy(pairs, ({ name }) => name).values()].every((same) => {
    if (same.every(({ value, next }) => value === next)) return true;
    const shortest = same.length > 1 ? SHORTEST : SHORTEST_ALONE;
    return same.every(({ value, next }) => value !== next && Math.min(value.length, next.length) >= shortest);
  });
}

function readLinks(markdown: string): Links {
  const values: { name: string; value: string }[] = [];
  const rest = markdown.replaceAll(LINK, (link) =>
    link.replaceAll(VALUE, (_, name: string | undefined, value = "", slash = "", part = "") => {
      values.push({ name: name?.slice(1) ?? slash, value: name ? value : part });
      return name ?? slash;
    }),
  );
  return { rest, values };
}
