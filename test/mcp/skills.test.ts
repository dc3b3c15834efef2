/** Skills of servers (SEP-2640), through us in both eras. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { suite, type TestContext, test } from 'node:test';
import { runScenario } from '../conformance/suite.ts';
import { type Body, startApp } from '../support/app.ts';
import { startHttpProgram } from '../support/servers/http-program.ts';
import { errorCodes, type JsonObject, RpcError } from '../support/servers/json-rpc.ts';
import { createProgram, type ProgramParts } from '../support/servers/program.ts';
import { until } from '../support/until.ts';
import { openSession, postModern } from './clients.ts';

const extension = 'io.modelcontextprotocol/skills';
const digestOf = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;

interface File {
  skill: string;
  uri: string;
  mimeType: string;
  text: string;
}

const cacheHints = { ttlMs: 0, cacheScope: 'private' };
const textMime = 'text/markdown';
const addressOf = (name: string) => `skill://${name}/SKILL.md`;
const unknown = (uri: unknown) => new RpcError(errorCodes.invalidParams, `Unknown: ${uri}`);

/** A server with skills, each a directory with a SKILL.md and a further file. */
function keeper(server: string, names: readonly string[]): ProgramParts {
  const frontmatterOf = (name: string) => ({ name, description: `How ${server} does a ${name}` });
  const files = names.flatMap((name): File[] => {
    const { description } = frontmatterOf(name);
    const head = `---\nname: ${name}\ndescription: ${description}\n---\n`;
    const file = (path: string, start: string) => ({
      skill: name,
      uri: `skill://${name}/${path}`,
      mimeType: textMime,
      text: `${start}${path} of ${name} at ${server}`,
    });
    return [file('SKILL.md', head), file('references/style.md', '')];
  });
  const entryOf = (name: string): JsonObject => {
    const own = files.filter(({ skill }) => skill === name);
    const resources = own.map(({ uri, mimeType, text }) => ({
      uri,
      mimeType,
      digest: digestOf(text),
      size: Buffer.byteLength(text),
    }));
    return { uri: addressOf(name), frontmatter: frontmatterOf(name), resources };
  };
  return {
    info: { name: server, version: '1' },
    extensions: { [extension]: { directoryRead: true } },
    tools: [{ definition: { name: 'work', inputSchema: { type: 'object' } }, call: () => ({ content: [] }) }],
    unlistedResources: files.map(({ skill, uri, mimeType, text }) => ({
      definition: { uri, mimeType, ...frontmatterOf(skill) },
      read: () => ({ uri, mimeType, text }),
    })),
    methods: {
      'skills/list': () => ({ skills: names.map(entryOf), ...cacheHints }),
      'skills/get': ({ params: { uri } }) => {
        const name = names.find((one) => uri === addressOf(one));
        if (name === undefined) throw unknown(uri);
        return { skill: entryOf(name), ...cacheHints };
      },
      'resources/directory/read': ({ params: { uri } }) => {
        const below = files.filter((file) => file.uri.startsWith(`${uri}/`));
        if (below.length === 0) throw unknown(uri);
        return { resources: toDirectory(String(uri), below) };
      },
    },
  };
}

/** What is directly in it: files, and directories of files. */
function toDirectory(uri: string, files: readonly File[]): JsonObject[] {
  const names = new Map(files.map((file) => [file.uri.slice(uri.length + 1).split('/')[0] ?? '', file]));
  return [...names].map(([name, { uri: first, mimeType }]) => {
    const isFile = first === `${uri}/${name}`;
    return { uri: `${uri}/${name}`, name, mimeType: isFile ? mimeType : 'inode/directory' };
  });
}

async function start(
  t: TestContext,
  programs: readonly ProgramParts[],
  count: number,
  env: Record<string, string> = {},
) {
  const app = await startApp(env);
  t.after(app.close);
  for (const parts of programs) {
    const server = await startHttpProgram(createProgram(parts), { transport: 'streamable-legacy' });
    t.after(server.close);
    await app.add(parts.info.name, { base_url: server.url });
  }
  const listed = async () => (await postModern(app, 'skills/list')).body.result.skills.length;
  await until(async () => (await listed()) === count, 'the skills are known');
  return app;
}

type App = Awaited<ReturnType<typeof start>>;

async function asking(app: App, era: 'legacy' | 'modern') {
  const session = era === 'legacy' ? await openSession(app) : undefined;
  return async (method: string, params: Record<string, Body> = {}): Promise<Body> => {
    const { body } = await (session?.request(method, params) ?? postModern(app, method, params));
    assert.equal(body.error, undefined, JSON.stringify(body.error));
    return body.result;
  };
}

suite('skills', () => {
  for (const era of ['legacy', 'modern'] as const) {
    test(`MCP-009: those of all servers are listed, read and complete, also where two have one name (${era})`, async (t) => {
      const app = await start(t, [keeper('east', ['review', 'release']), keeper('west', ['review'])], 3);
      const ask = await asking(app, era);
      const { skills } = await ask('skills/list');
      const addresses: string[] = skills.map(({ uri }: Body) => uri);
      assert.deepEqual(addresses.toSorted(), [
        'skill://east/review/SKILL.md',
        'skill://release/SKILL.md',
        'skill://west/review/SKILL.md',
      ]);
      for (const entry of skills) {
        const { uri, frontmatter, resources } = entry;
        const server = frontmatter.description.includes('east') ? 'east' : 'west';
        assert.deepEqual((await ask('skills/get', { uri })).skill, entry);
        for (const file of resources) {
          const [content] = (await ask('resources/read', { uri: file.uri })).contents;
          assert.match(content.text, new RegExp(`at ${server}$`));
          assert.equal(content.uri, file.uri);
          assert.equal(digestOf(content.text), file.digest, 'nothing in a file changes on the way');
        }
        const directory = uri.slice(0, uri.lastIndexOf('/'));
        const read = await ask('resources/directory/read', { uri: directory });
        const files: string[] = read.resources.map((file: Body) => file.uri);
        assert.deepEqual(files, [`${directory}/SKILL.md`, `${directory}/references`]);
      }
    });
  }

  test('MCP-009: the extension is declared where a server has it, and one server keeps its addresses', async (t) => {
    const app = await start(t, [keeper('east', ['review']), keeper('west', ['review'])], 2);
    const { capabilities } = (await postModern(app, 'server/discover')).body.result;
    assert.deepEqual(capabilities.extensions[extension], { directoryRead: true });
    const single = await postModern(app, 'skills/list', {}, { path: '/mcp/servers/east' });
    assert.deepEqual(
      single.body.result.skills.map(({ uri }: Body) => uri),
      ['skill://review/SKILL.md'],
    );
    const without = await startApp();
    t.after(without.close);
    const none = (await postModern(without, 'server/discover')).body.result.capabilities;
    assert.equal(none.extensions[extension], undefined);
  });
});

suite('the conformance suite', () => {
  for (const scenario of ['enumeration', 'directory', 'manifest']) {
    test(`MCP-009: sep-2640-skills-${scenario} passes as it does directly`, { timeout: 120_000 }, async (t) => {
      const name = `sep-2640-skills-${scenario}`;
      const parts = keeper('east', ['review', 'release']);
      const alone = await startHttpProgram(createProgram(parts), { transport: 'streamable-modern' });
      t.after(alone.close);
      const direct = await runScenario({ scenario: name, url: alone.url });
      assert.deepEqual(direct.failures, []);
      assert.ok(direct.passed > 0);
      const app = await start(t, [parts, keeper('west', ['deploy'])], 3, { MCP_AGGREGATOR_ANONYMOUS: 'caller' });
      for (const path of ['/mcp', '/mcp/servers/east'])
        assert.deepEqual(await runScenario({ scenario: name, url: `${app.url}${path}` }), direct, path);
    });
  }
});
