/** Server-sent events in the answer to a request; the browser's own EventSource can only GET. */
export interface StreamedEvent {
  name: string;
  data: string;
}

export async function* eventsIn(response: Response): AsyncGenerator<StreamedEvent> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = '';
  for (;;) {
    const chunk = await reader?.read();
    if (chunk === undefined || chunk.done) return;
    buffer += chunk.value;
    const events = buffer.split(/\r?\n\r?\n/);
    buffer = events.pop() ?? '';
    for (const event of events) {
      const lines = event.split(/\r?\n/);
      const data = fieldOf(lines, 'data').join('\n');
      if (data !== '') yield { name: fieldOf(lines, 'event')[0] ?? 'message', data };
    }
  }
}

function fieldOf(lines: readonly string[], field: string): string[] {
  return lines.filter((line) => line.startsWith(`${field}:`)).map((line) => line.slice(field.length + 1).trimStart());
}
