interface Listener<Message, Rest extends unknown[]> {
  onmessage?: ((message: Message, ...rest: Rest) => void) | undefined;
}

/** The steps reported to a connected client, counted on the wire: SDKs drop progress that arrives in one piece with the answer. */
export function wireProgress<Message extends object, Rest extends unknown[]>(
  transport: Listener<Message, Rest> | undefined,
): unknown[] {
  const deliver = transport?.onmessage;
  if (transport === undefined || deliver === undefined) throw new Error('the client is not connected');
  const steps: unknown[] = [];
  transport.onmessage = (message, ...rest) => {
    const { method, params } = message as { method?: unknown; params?: { progress?: unknown } };
    if (method === 'notifications/progress') steps.push(params?.progress);
    deliver(message, ...rest);
  };
  return steps;
}
