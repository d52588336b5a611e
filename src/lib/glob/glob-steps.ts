/** Where in a path one may stand: 1 for each such place, one more than the path has characters. */
export type Places = Uint8Array;

/** From the places where a piece of a glob may begin to those where it may have ended. */
export type Step = (path: string, at: Places) => Places;

export type Quantity = "@" | "?" | "+" | "*" | "!";

export function literal(text: string): Step {
  return (path, at) => {
    const out = new Uint8Array(at.length);
    for (let i = at.indexOf(1); i >= 0; i = at.indexOf(1, i + 1))
      if (path.startsWith(text, i)) out[i + text.length] = 1;
    return out;
  };
}

export function oneOf(isMet: (character: string) => boolean): Step {
  return (path, at) => {
    const out = new Uint8Array(at.length);
    for (let i = at.indexOf(1); i >= 0; i = at.indexOf(1, i + 1)) if (isMet(path[i] ?? "")) out[i + 1] = 1;
    return out;
  };
}

/** At least so many characters of one part of the path. */
export function star(least: 0 | 1): Step {
  return (path, at) => {
    const out = new Uint8Array(at.length);
    let isOpen = false;
    for (let i = 0; i < at.length; i += 1) {
      if (isOpen || (least === 0 && at[i])) out[i] = 1;
      if (at[i]) isOpen = true;
      if (path[i] === "/") isOpen = false;
    }
    return out;
  };
}

/** Any number of whole parts, each with its slash. */
export const anyFolders: Step = (path, at) => {
  const out = at.slice();
  const first = at.indexOf(1);
  for (let i = Math.max(first, 0) + 1; first >= 0 && i < at.length; i += 1) if (path[i - 1] === "/") out[i] = 1;
  return out;
};

/** Nothing, or a slash and whatever comes then. */
export const anythingBelow: Step = (path, at) => {
  const out = at.slice();
  const first = at.findIndex((is, i) => is === 1 && path[i] === "/");
  return first < 0 ? out : out.fill(1, first + 1);
};

export const anything: Step = (_path, at) => {
  const first = at.indexOf(1);
  return first < 0 ? at : at.slice().fill(1, first);
};

export function sequence(steps: readonly Step[]): Step {
  return (path, at) => steps.reduce((places, step) => step(path, places), at);
}

export function group(alternatives: readonly Step[], quantity: Quantity): Step {
  const once: Step = (path, at) => alternatives.map((step) => step(path, at)).reduce(union, new Uint8Array(at.length));
  switch (quantity) {
    case "@":
      return once;
    case "?":
      return (path, at) => union(at.slice(), once(path, at));
    case "+":
      return (path, at) => repeated(once, path, once(path, at));
    case "*":
      return (path, at) => repeated(once, path, at.slice());
    case "!":
      return otherThan(once);
  }
}

/** Each round goes on from the places that the last one found. */
function repeated(once: Step, path: string, places: Places): Places {
  for (let fresh = places; fresh.includes(1); ) {
    const reached = once(path, fresh);
    fresh = reached.map((is, i) => (is && !places[i] ? 1 : 0));
    union(places, fresh);
  }
  return places;
}

function otherThan(once: Step): Step {
  const anyPart = star(0);
  return (path, at) => {
    const out = new Uint8Array(at.length);
    for (let i = at.indexOf(1); i >= 0; i = at.indexOf(1, i + 1)) {
      const here = new Uint8Array(at.length).fill(1, i, i + 1);
      const excluded = once(path, here);
      for (const [j, is] of anyPart(path, here).entries()) if (is && !excluded[j]) out[j] = 1;
    }
    return out;
  };
}

function union(places: Places, others: Places): Places {
  for (let i = 0; i < places.length; i += 1) if (others[i]) places[i] = 1;
  return places;
}
