// Roots and inclusion proofs are those of RFC 9162.
import assert from "node:assert/strict";
import { createHash, randomBytes, randomInt } from "node:crypto";
import { test } from "node:test";
import { hashLeaf, type InclusionProof, MerkleTree, verifyInclusion } from "../../src/lib/merkle-tree.ts";

/** The leaves and roots that implementations of Certificate Transparency test each other with. */
const LEAVES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"].map(
  (hex) => Buffer.from(hex, "hex"),
);
const ROOTS = [
  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
  "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
  "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
  "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
  "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
  "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
  "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
  "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];

test("the roots of the first eight known leaves are the published ones", () => {
  const tree = new MerkleTree();
  for (const [size, root] of ROOTS.entries()) {
    assert.equal(tree.size, size);
    assert.equal(tree.root().toString("hex"), root);
    if (LEAVES[size]) tree.add(LEAVES[size]);
  }
});

test("the proof of a known leaf is the published one", () => {
  const { tree, proof } = treeOf(LEAVES, 5);
  assert.deepEqual(
    proof.path.map((hash) => hash.toString("hex")),
    [
      "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
      "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
      "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
  );
  assert.ok(verifyInclusion(LEAVES[5] as Buffer, proof, tree.root()));
});

test("every leaf of trees of every size up to 70 is proved by the definition's root, and by no other leaf, place or root", () => {
  for (let size = 1; size <= 70; size++) {
    const leaves = Array.from({ length: size }, () => randomBytes(randomInt(16, 40)));
    const root = rootByDefinition(leaves);
    for (const [index, leaf] of leaves.entries()) {
      const { tree, proof } = treeOf(leaves, index);
      assert.deepEqual(tree.root(), root);
      assert.ok(verifyInclusion(leaf, proof, root), `leaf ${index} of ${size}`);
      assert.ok(!verifyInclusion(Buffer.concat([leaf, Buffer.of(1)]), proof, root));
      assert.ok(!verifyInclusion(leaf, { ...proof, index: (index + 1) % (size + 1) }, root));
      assert.ok(!verifyInclusion(leaf, { ...proof, path: [...proof.path, root] }, root));
      if (size > 1) assert.ok(!verifyInclusion(leaf, { ...proof, path: proof.path.slice(1) }, root));
      assert.ok(!verifyInclusion(leaf, proof, hashLeaf("another")));
    }
  }
});

test("a proof with numbers that cannot be is refused", () => {
  const { tree, proof } = treeOf(LEAVES, 0);
  for (const wrong of [{ index: -1 }, { index: 8 }, { index: 0.5 }, { size: 0 }, { size: Number.NaN }]) {
    assert.ok(!verifyInclusion(LEAVES[0] as Buffer, { ...proof, ...wrong }, tree.root()));
  }
});

function treeOf(leaves: readonly Buffer[], index: number): { tree: MerkleTree; proof: InclusionProof } {
  const tree = new MerkleTree();
  for (const [at, leaf] of leaves.entries()) tree.add(leaf, { prove: at === index });
  return { tree, proof: tree.proof() ?? assert.fail("no proof") };
}

/** Section 2.1.1, word for word. */
function rootByDefinition(leaves: readonly Buffer[]): Buffer {
  const hash = (...parts: Uint8Array[]): Buffer => createHash("sha256").update(Buffer.concat(parts)).digest();
  if (leaves.length === 0) return hash();
  if (leaves.length === 1) return hash(Buffer.of(0), leaves[0] as Buffer);
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  return hash(Buffer.of(1), rootByDefinition(leaves.slice(0, k)), rootByDefinition(leaves.slice(k)));
}
