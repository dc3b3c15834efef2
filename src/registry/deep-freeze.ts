/** Freezes a JSON-like value with everything in it. What is frozen already was frozen by us, and so in depth. */
export function deepFreeze<T extends object>(value: T): T {
  // Not recursive: what a server says of itself may be nested as deep as it likes.
  const pending: object[] = [value];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (Object.isFrozen(next)) continue;
    Object.freeze(next);
    for (const inner of Object.values(next)) if (typeof inner === 'object' && inner !== null) pending.push(inner);
  }
  return value;
}
