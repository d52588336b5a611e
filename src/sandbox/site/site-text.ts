import { fastHash } from "../../lib/hash.ts";

/** Everything a site says follows from its seed: the same seed, the same pages, on every machine. */
export type Dice = () => number;

/** Numbers from 0 to just below 1 (mulberry32). */
export function diceOf(name: string): Dice {
  let state = fastHash(name);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

export function pick<T>(dice: Dice, from: readonly T[]): T {
  const picked = from[Math.floor(dice() * from.length)];
  if (picked === undefined) throw new Error("there is nothing to pick from");
  return picked;
}

const SMALL_WORDS = "the a of and to in is for with on by from that are as at this it be or".split(" ");
const WORDS = (
  "anchor axle basket battery beacon bearing bell bolt bracket brake bridge buoy cable canal cargo chain charger clamp coast " +
  "compass cover crank crate current delivery depot derailleur dock draught drift engine fender ferry fork frame freight gear " +
  "harbour helmet hinge hub hull island keel kettle ladder lantern lever light lock map mast meter mirror motor mudguard nut " +
  "oar pedal pier pilot pontoon post pressure pulley pump quay rack rail reflector ridge rim ring river road rope rudder saddle " +
  "sail screen screw seal sensor shaft shelter ship shore signal spanner spoke spring stand station steel strap stream switch " +
  "tide timber torque tow trailer tube tunnel tyre valve vessel washer water wave weather wharf wheel winch wind workshop yard " +
  "adjust arrive assemble carry check clean close collect cover deliver empty fasten fill fold follow guide hold inspect join " +
  "keep lift load loosen lower measure mount move open order pack pass press pull push raise reach release remove repair replace " +
  "ride rinse roll sort start steer store test tighten tilt turn unload wait wash watch weigh wipe " +
  "broad calm clear cold dark deep dry early fast firm flat full heavy high late light long low loose narrow new old quick quiet " +
  "rough round safe sharp short slow smooth soft steady steep strong tall thick thin tight warm wet wide"
).split(" ");

/** About so many words, in sentences. */
export function paragraph(dice: Dice, words: number): string {
  const sentences: string[] = [];
  for (let left = words; left > 0; ) {
    const length = Math.min(left, 7 + Math.floor(dice() * 8));
    left -= length;
    const sentence = Array.from({ length }, (_, i) => pick(dice, i % 2 === 0 ? SMALL_WORDS : WORDS)).join(" ");
    sentences.push(`${capital(sentence)}.`);
  }
  return sentences.join(" ");
}

export function heading(dice: Dice): string {
  return capital(`${pick(dice, WORDS)} ${pick(dice, SMALL_WORDS)} ${pick(dice, WORDS)}`);
}

export function slug(dice: Dice): string {
  return pick(dice, WORDS);
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
