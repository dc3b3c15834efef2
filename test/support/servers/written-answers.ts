/** A server on stdio whose tools answer with text that the test has written: `{{id}}` stands for the request's id. */
export function stdioWritten(answers: Record<string, string>): { command: string; args: string[] } {
  const program = `
    const answers = ${JSON.stringify(answers)};
    const tools = Object.keys(answers).map((name) => ({ name, inputSchema: { type: 'object' } }));
    const results = {
      initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'w', version: '1' } },
      'tools/list': { tools },
    };
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method, params } = JSON.parse(line);
      if (id === undefined) return;
      const written = method === 'tools/call' ? answers[params.name] : undefined;
      const text = written === undefined
        ? JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} })
        : written.replace('{{id}}', id).replace(/{{(\\d+) of (.*?)}}/g, (_, count, what) => what.repeat(count));
      process.stdout.write(text + '\\n');
    });`;
  return { command: process.execPath, args: ['-e', program] };
}
