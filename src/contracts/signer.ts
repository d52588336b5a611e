/** Signs exported data with the key of this storage. */
export interface Signer {
  sign(content: string): Promise<Signature>;
}

export interface Signature {
  readonly algorithm: "Ed25519";
  /** The 32 bytes of the key, base64. */
  readonly publicKey: string;
  /** Fingerprint for users to compare: `SHA256:…` of the public key. */
  readonly fingerprint: string;
  /** base64. */
  readonly signature: string;
}
