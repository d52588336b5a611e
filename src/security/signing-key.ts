import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { UnreadableError } from "../contracts/errors.ts";
import type { Signer } from "../contracts/signer.ts";
import { readFileIfExists, writeFileAtomic } from "../lib/atomic-file.ts";
import { fingerprintOf, rawPublicKey } from "../lib/ed25519.ts";
import { withFileLock } from "../lib/file-lease.ts";

/**
 * Opens the Ed25519 key of this storage, `security/signing-key.pem`. Created at first use; processes that start at once end with the same
 * one. UnreadableError for a file that holds no such key: it is never replaced, because earlier signatures would have no known signer.
 */
export function openSigner(folder: string): Signer {
  const path = join(folder, "signing-key.pem");
  let opening: Promise<KeyObject> | undefined;
  const open = (): Promise<KeyObject> => {
    opening ??= readOrMake(folder, path).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  return {
    async sign(content) {
      const key = await open();
      const publicKey = rawPublicKey(createPublicKey(key));
      return {
        algorithm: "Ed25519",
        publicKey,
        fingerprint: fingerprintOf(publicKey),
        signature: sign(null, Buffer.from(content), key).toString("base64"),
      };
    },
  };
}

async function readOrMake(folder: string, path: string): Promise<KeyObject> {
  const known = await readKey(path);
  if (known) return known;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return await withFileLock(join(folder, "keys.lock"), async () => {
    const made = await readKey(path);
    if (made) return made;
    const { privateKey } = generateKeyPairSync("ed25519");
    await writeFileAtomic(path, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
    return privateKey;
  });
}

async function readKey(path: string): Promise<KeyObject | undefined> {
  const bytes = await readFileIfExists(path);
  if (bytes === undefined) return undefined;
  try {
    const key = createPrivateKey(bytes);
    if (key.asymmetricKeyType === "ed25519") return key;
  } catch {
    // Reported below, without the content of the file.
  }
  throw new UnreadableError(
    `read ${path}: it is not an Ed25519 private key in PEM. Restore it from a backup; if there is none, remove it, and a new key is made (what the old one signed then has an unknown signer).`,
  );
}
