/** The Git repository of the gateway's uplink: commits with fixed dates, each a few replacements in its files. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { devNull } from 'node:os';
import { dirname, join } from 'node:path';

/** Path, text to replace (empty: the file is new or appended to), new text. */
type Edit = [path: string, from: string, to: string];
interface Commit {
  date: string;
  author: string;
  message: string;
  edits: Edit[];
}

const config = `[uplink]
endpoint = "https://ingest.tarnwell.example/v3"
batch_size = 200
retry_limit = 6
listen_port = 7410

[radio]
channel = 12
spreading_factor = 9

[storage]
path = "/var/lib/siskin"
max_days = 30
`;
const sender = `import { encode } from './codec.ts';

/** Sends batches of readings; what cannot be sent stays in the queue. */
export async function sendBatch(queue, endpoint) {
  const batch = queue.peek(200);
  const response = await fetch(endpoint, { method: 'POST', body: encode(batch) });
  if (response.ok) queue.drop(batch.length);
}
`;
const codec = `/** Readings as CBOR: missing values are left undefined. */
export function encode(readings) {
  return readings.map(({ station, time, value }) => [station, time, value]);
}
`;

const commits: Commit[] = [
  commit('2025-03-03', 'Yuki Arai', 'Start of the uplink service', [
    ['config/uplink.toml', '', config],
    ['src/sender.ts', '', sender],
    ['README.md', '', '# siskin-uplink\n\nSends readings of a gateway to the ingest service.\n'],
  ]),
  commit('2025-03-10', 'Yuki Arai', 'Encode readings as CBOR', [['src/codec.ts', '', codec]]),
  commit('2025-03-24', 'Samir Haddad', 'Build in CI', [
    ['ci/build.yaml', '', 'image: toolchain:13.1\nsteps: [install, test, package]\n'],
  ]),
  commit('2025-04-07', 'Felix Auer', 'Test the codec with missing values', [
    ['test/codec.test.ts', '', "test('a missing value stays undefined', () => {});\n"],
  ]),
  commit('2025-04-28', 'Yuki Arai', 'Raise batch_size to 250', [
    ['config/uplink.toml', 'batch_size = 200', 'batch_size = 250'],
  ]),
  commit('2025-05-19', 'Tomás Figueira', 'Document the wiring of the status lamp', [
    ['docs/lamp.md', '', 'The status lamp hangs on GPIO 22. Red and green share the resistor R14 of 330 ohm.\n'],
  ]),
  commit(
    '2025-06-02',
    'Yuki Arai',
    'Keep readings when the disk is full\n\nThe oldest day is deleted first. Reported by the Tidewater Board.',
    [['src/store.ts', '', 'export const deleteOldestDay = (days) => days.slice(1);\n']],
  ),
  commit('2025-06-23', 'Ravi Menon', 'Send the quality flag with each reading', [
    ['src/codec.ts', '[station, time, value]', '[station, time, value, quality]'],
  ]),
  commit('2025-07-14', 'Felix Auer', 'Fix a race between drop and peek\n\nTwo senders could drop the same batch.', [
    ['src/sender.ts', 'queue.drop(batch.length)', 'queue.drop(batch.id)'],
  ]),
  commit('2025-08-18', 'Samir Haddad', 'Move to toolchain 14.0', [
    ['ci/build.yaml', 'toolchain:13.1', 'toolchain:14.0'],
  ]),
  commit('2025-09-08', 'Yuki Arai', 'Switch radio to channel 15\n\nChannel 12 collides with the harbour pilots.', [
    ['config/uplink.toml', 'channel = 12', 'channel = 15'],
  ]),
  commit('2025-09-22', 'Yuki Arai', 'Back off when the endpoint is down', [
    [
      'src/backoff.ts',
      '',
      '/** Seconds to wait before an attempt. */\nexport const waitSeconds = (attempt) => Math.min(900, 5 * 2 ** attempt);\n',
    ],
  ]),
  commit('2025-10-13', 'Ravi Menon', 'Compress batches with zstd', [
    ['src/sender.ts', 'encode(batch)', 'zstd(encode(batch))'],
    ['docs/compression.md', '', 'Zstandard at level 6 shrinks a batch to 31 % of its size.\n'],
  ]),
  commit('2025-11-03', 'Tomás Figueira', 'Describe the second SIM slot', [
    ['docs/sim.md', '', 'The second slot takes over after 480 seconds. Its power is switched by Q7.\n'],
  ]),
  commit('2025-11-24', 'Felix Auer', 'Lower retry_limit to 4 for slow links', [
    ['config/uplink.toml', 'retry_limit = 6', 'retry_limit = 4'],
  ]),
  commit('2025-12-15', 'Samir Haddad', 'Sign packages with the release key', [
    ['ci/build.yaml', 'package]', 'package, sign]'],
    ['ci/keys.md', '', 'Release key fingerprint: 7D 19 C0 4E 88 A2. It is renewed in December 2027.\n'],
  ]),
  commit('2026-01-12', 'Liselotte Aaberg', 'Explain how to run the tests', [
    ['README.md', '', '\nRun the tests with `make check`.\n'],
  ]),
  commit('2026-01-26', 'Yuki Arai', 'Keep readings for 45 days', [
    ['config/uplink.toml', 'max_days = 30', 'max_days = 45'],
  ]),
  commit('2026-02-09', 'Ravi Menon', 'Count lost packets per logger', [
    ['src/metrics.ts', '', "export const lostPackets = createCounter('siskin_lost_packets_total', ['logger']);\n"],
  ]),
  commit(
    '2026-03-02',
    'Felix Auer',
    'Fix the clock after a power cut\n\nThe clock is only trusted after an answer of ntp.tarnwell.example.',
    [['src/clock.ts', '', "const timeServer = 'ntp.tarnwell.example';\nconst maxDriftMs = 1500;\n"]],
  ),
  commit('2026-03-16', 'Samir Haddad', 'Move to toolchain 14.2', [
    ['ci/build.yaml', 'toolchain:14.0', 'toolchain:14.2'],
  ]),
  commit('2026-04-13', 'Liselotte Aaberg', 'Show the signal strength on the status page', [
    ['src/status-page.ts', '', 'export const bars = (dbm) => (dbm > -85 ? 4 : dbm > -95 ? 2 : 1);\n'],
  ]),
  commit('2026-05-04', 'Yuki Arai', 'Use spreading factor 10 in valleys', [
    ['config/valley.toml', '', '[radio]\nspreading_factor = 10\nduty_cycle = 0.8\n'],
  ]),
  commit('2026-06-08', 'Felix Auer', 'Reject batches with a wrong checksum', [
    ['src/checksum.ts', '', '/** CRC-32C, the polynomial of Castagnoli. */\nexport const polynomial = 0x1edc6f41;\n'],
  ]),
  commit(
    '2026-07-06',
    'Ravi Menon',
    'Drop support for the v2 endpoint\n\nThe last gateway that used it, at Stone Quay, was updated on 30 June.',
    [['docs/endpoints.md', '', 'v3 is the only endpoint. v2 answers 410.\n']],
  ),
  commit('2026-08-24', 'Liselotte Aaberg', 'Restart the modem after 20 failed joins', [
    ['src/modem.ts', '', 'export const maxFailedJoins = 20;\nexport const resetPin = 17;\n'],
  ]),
  commit('2026-09-14', 'Yuki Arai', 'Move listen_port to 7443', [
    ['config/uplink.toml', 'listen_port = 7410', 'listen_port = 7443'],
  ]),
  commit('2026-10-05', 'Samir Haddad', 'Publish images for riscv64', [
    ['ci/build.yaml', '', 'platforms: [arm64, riscv64]\n'],
  ]),
];

function commit(date: string, author: string, message: string, edits: Edit[]): Commit {
  return { date, author, message, edits };
}

export function createRepository(directory: string): void {
  git(directory, ['init', '--quiet', '--initial-branch=main', '.']);
  for (const { date, author, message, edits } of commits) {
    for (const edit of edits) apply(directory, edit);
    git(directory, ['add', '--all']);
    const email = `${author.split(' ')[0]?.toLowerCase()}@tarnwell.example`;
    git(directory, ['commit', '--quiet', '--no-gpg-sign', `--message=${message}`], {
      GIT_AUTHOR_NAME: author,
      GIT_AUTHOR_EMAIL: email,
      GIT_AUTHOR_DATE: `${date}T10:00:00Z`,
      GIT_COMMITTER_NAME: author,
      GIT_COMMITTER_EMAIL: email,
      GIT_COMMITTER_DATE: `${date}T10:00:00Z`,
    });
  }
}

function apply(directory: string, [path, from, to]: Edit): void {
  const file = join(directory, path);
  mkdirSync(dirname(file), { recursive: true });
  if (from === '') writeFileSync(file, to, { flag: 'a' });
  else writeFileSync(file, readFileSync(file, 'utf8').replace(from, to));
}

function git(directory: string, args: string[], environment: Record<string, string> = {}): void {
  mkdirSync(directory, { recursive: true });
  execFileSync('git', args, { cwd: directory, env: { ...process.env, GIT_CONFIG_GLOBAL: devNull, ...environment } });
}
