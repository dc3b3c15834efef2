const keyBytes = 32;

/** Parses a key of 32 bytes in hex or base64; undefined if it is invalid. */
export function decodeKey(text: string): Buffer | undefined {
  const trimmed = text.trim();
  if (!/^[0-9A-Za-z+/_-]+={0,2}$/.test(trimmed)) return undefined;
  const bytes = /^[0-9a-f]{64}$/i.test(trimmed) ? Buffer.from(trimmed, 'hex') : Buffer.from(trimmed, 'base64');
  return bytes.length === keyBytes ? bytes : undefined;
}
