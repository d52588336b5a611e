/** Where S3 itself answers, in any partition and form. Nobody else gives out names like these. */
const AWS_HOST = /^([a-z0-9.-]+\.)?s3[.-]([a-z0-9-]+\.)*amazonaws\.com(\.cn)?$/;

/** Session tokens of this machine's role are shown to nobody else. */
export function isAwsHost(host: string): boolean {
  return AWS_HOST.test(host.toLowerCase());
}

/** Where a bucket is, without a slash at its end. Other services than AWS are asked by path, which all of them understand. */
export function bucketPlace(bucket: string, endpoint: string, region: string): string {
  if (endpoint) return `${endpoint}/${bucket}`;
  const host = `s3.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
  // The certificate of AWS is for one name below its host, and a name with a dot is two; one with '_' is no name of a host.
  return /[._]/.test(bucket) ? `https://${host}/${bucket}` : `https://${bucket}.${host}`;
}
