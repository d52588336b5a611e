import { hash as hashOf } from "node:crypto";

/** A proof that one leaf is in a tree: the hashes beside its path, from the leaf up. RFC 9162, section 2.1.3. */
export interface InclusionProof {
  readonly index: number;
  readonly size: number;
  readonly path: readonly Buffer[];
}

/** A perfect subtree on the stack: `height` 0 is a leaf. */
interface Subtree {
  readonly height: number;
  readonly hash: Buffer;
  /** Contains the leaf to prove. */
  readonly hasTarget: boolean;
}

/**
 * Merkle tree hash of RFC 9162, section 2.1 (SHA-256), computed as the leaves come. Holds one hash for each bit of their number.
 * One leaf can be named while it is added: its proof is then collected on the way.
 */
export class MerkleTree {
  readonly #stack: Subtree[] = [];
  readonly #path: Buffer[] = [];
  #target: number | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(leaf: Uint8Array | string, options: { readonly prove?: boolean } = {}): void {
    const isTarget = options.prove === true && this.#target === undefined;
    if (isTarget) this.#target = this.#size;
    this.#size += 1;
    let top: Subtree = { height: 0, hash: hashLeaf(leaf), hasTarget: isTarget };
    for (let left = this.#stack.at(-1); left?.height === top.height; left = this.#stack.at(-1)) {
      this.#stack.pop();
      top = this.#join(left, top);
    }
    this.#stack.push(top);
  }

  /** Returns the hash of the leaves added so far. */
  root(): Buffer {
    return foldRight(this.#stack)?.hash ?? hashOf("sha256", "", "buffer");
  }

  /** Returns undefined if no leaf was added with `prove`. */
  proof(): InclusionProof | undefined {
    if (this.#target === undefined) return undefined;
    const path = [...this.#path];
    foldRight(this.#stack, (sibling) => path.push(sibling));
    return { index: this.#target, size: this.#size, path };
  }

  #join(left: Subtree, right: Subtree): Subtree {
    return joinSubtrees(left, right, (sibling) => this.#path.push(sibling));
  }
}

/** The smaller subtrees at the right edge are joined first: each split leaves the largest power of two at the left. */
function foldRight(
  stack: readonly Subtree[],
  onSibling: (hash: Buffer) => void = () => undefined,
): Subtree | undefined {
  let right: Subtree | undefined;
  for (const left of stack.toReversed()) right = right ? joinSubtrees(left, right, onSibling) : left;
  return right;
}

function joinSubtrees(left: Subtree, right: Subtree, onSibling: (hash: Buffer) => void): Subtree {
  if (left.hasTarget) onSibling(right.hash);
  if (right.hasTarget) onSibling(left.hash);
  const hash = hashNode(left.hash, right.hash);
  return { height: left.height + 1, hash, hasTarget: left.hasTarget || right.hasTarget };
}

/** The prefixes keep a node from passing for a leaf. */
const [LEAF, NODE] = [Uint8Array.of(0), Uint8Array.of(1)];

export function hashLeaf(leaf: Uint8Array | string): Buffer {
  return hashOf("sha256", typeof leaf === "string" ? `\0${leaf}` : Buffer.concat([LEAF, leaf]), "buffer");
}

function hashNode(left: Uint8Array, right: Uint8Array): Buffer {
  return hashOf("sha256", Buffer.concat([NODE, left, right]), "buffer");
}

/** RFC 9162, section 2.1.3.2. */
export function verifyInclusion(leaf: Uint8Array | string, proof: InclusionProof, root: Uint8Array): boolean {
  const { index, size, path } = proof;
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(size) || index < 0 || index >= size) return false;
  let [at, last] = [index, size - 1];
  let hash = hashLeaf(leaf);
  for (const sibling of path) {
    if (last === 0) return false;
    if (at % 2 === 1 || at === last) {
      hash = hashNode(sibling, hash);
      // At the right edge a subtree may have no sibling for some levels.
      while (at % 2 === 0 && at !== 0) {
        at /= 2;
        last = Math.floor(last / 2);
      }
    } else {
      hash = hashNode(hash, sibling);
    }
    at = Math.floor(at / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 && hash.equals(root);
}
