/** NFS, SMB 1, CIFS, SMB 2: what `statfs` says of file systems that other machines write to as well. */
export const NETWORK_FILE_SYSTEMS: ReadonlySet<number> = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42]);
