/** Writes docs/compatibility.md from what was tried: `npm run compatibility`. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { absent, type Cell, features, runCompatibility } from './compatibility-matrix.ts';

export const documentFile = fileURLToPath(new URL('../../docs/compatibility.md', import.meta.url));

export function toDocument(cells: Cell[]): string {
  return `# Which clients work with which servers

Clients of every revision of MCP work with servers of every revision; the aggregator translates between them. This page
is written by \`npm run compatibility\` from what its test really did, with a real client, a real server and the
aggregator between them, and the tests fail when it no longer tells the truth.

"yes" means that it worked; "–" that the revision has no such thing, with the reason below.

${table(cells)}

${reasons()}

## What is translated
- **A 2026-07-28 client, a server of an older revision that asks for something in the middle of a call** (sampling,
  elicitation, roots): the call waits, the client gets \`input_required\` with a sealed \`requestState\`, and its retry
  resumes the call. The state is good for five minutes, for the same token, tool and arguments, and for the aggregator
  that issued it; an unanswered call ends after that time.
- **An older client, a 2026-07-28 server**: the server's questions become real requests on the stream of the call that
  caused them.
- **A server of an older revision that asks** gets a session (a process, on STDIO) per client that can answer, from its
  first question on. It ends with the client's session, or for 2026-07-28 clients, which have none, a minute after their
  last call. Until then, and for clients that cannot answer, one session is shared; where several clients' calls are in
  progress at that first question, it waits until it is clear which of them it belongs to.
- **Log messages** of a shared STDIO or SSE server do not say which call they are about: they reach a client while its
  call is the only one in progress on that server, and nobody otherwise.
- **Structured results that are not objects** are wrapped as \`{"result": …}\` for clients before 2026-07-28, together
  with the tool's output schema.
- **A server that closes the stream of a call before it has answered** (2025-11-25: the client comes back for the rest)
  does so to clients of that revision; all others get their answer in one piece.
- **Resource links and audio** become text for clients of revisions that do not have them.
`;
}

function table(cells: Cell[]): string {
  const head = ['client', 'server', ...features];
  const rows = cells.map((cell) => [cell.client, cell.server, ...features.map((feature) => verdict(cell, feature))]);
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

function verdict({ client, problems }: Cell, feature: (typeof features)[number]): string {
  if (absent[client]?.[feature] !== undefined) return '–';
  return problems[feature] === undefined ? 'yes' : 'no';
}

function reasons(): string {
  return Object.entries(absent)
    .flatMap(([client, missing]) =>
      Object.entries(missing).map(([feature, reason]) => `- ${client}, ${feature}: – because ${reason}.`),
    )
    .join('\n');
}

if (import.meta.main) {
  writeFileSync(documentFile, toDocument(await runCompatibility()));
}
