/** Skills of servers (SEP-2640), through us in both eras. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { suite, type TestContext, test } from 'node:test';
import { type Body, startApp } from '../support/app.ts';
import { startHttpProgram } from '../support/servers/http-program.ts';
import type { JsonObject } from '../support/servers/json-rpc.ts';
import { createProgram, type ProgramParts } from '../support/servers/program.ts';
import { until } from '../support/until.ts';
import { openSession, postModern } from './clients.ts';

const extension = 'io.modelcontextprotocol/skills';
const digestOf = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;

/** A server with skills, each a directory with a SKILL.md and a further file. */
function keeper(server: string, names: readonly string[]): ProgramParts {
  const files = names.flatMap((name) =>
    ['SKILL.md', 'references/style.md'].map((path) => ({
      skill: `skill://${name}/SKILL.md`,
      uri: `skill://${name}/${path}`,
      text: `${path} of ${name} at ${server}`,
    })),
  );
  const entryOf = (name: string): JsonObject => {
    const own = files.filter(({ skill }) => skill === `skill://${name}/SKILL.md`);
    return {
      uri: `skill://${name}/SKILL.md`,
      name,
      description: `How ${server} does a ${name}`,
      resources: own.map(({ uri, text }) => ({ uri, digest: digestOf(text) })),
    };
  };
  return {
    info: { name: server, version: '1' },
    extensions: { [extension]: { directoryRead: true } },
    tools: [{ definition: { name: 'work', inputSchema: { type: 'object' } }, call: () => ({ content: [] }) }],
    unlistedResources: files.map(({ uri, text }) => ({ definition: { uri, name: uri }, read: () => ({ uri, text }) })),
    methods: {
      'skills/list': () => ({ skills: names.map(entryOf) }),
      'skills/get': ({ params }) => {
        const name = names.find((one) => params.uri === `skill://${one}/SKILL.md`) ?? assert.fail(String(params.uri));
        return { skill: entryOf(name) };
      },
      'resources/directory/read': ({ params }) => ({
        resources: files
          .filter(({ uri }) => uri.startsWith(`${params.uri}/`))
          .map(({ uri }) => ({ uri, name: uri.slice(uri.lastIndexOf('/') + 1) })),
      }),
    },
  };
}

async function start(t: TestContext, programs: readonly ProgramParts[], count: number) {
  const app = await startApp();
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
      for (const { uri, description, resources } of skills) {
        const server = description.includes('east') ? 'east' : 'west';
        assert.deepEqual((await ask('skills/get', { uri })).skill, { ...(await entry(ask, uri)), description });
        for (const file of resources) {
          const [content] = (await ask('resources/read', { uri: file.uri })).contents;
          assert.match(content.text, new RegExp(`at ${server}$`));
          assert.equal(content.uri, file.uri);
          assert.equal(digestOf(content.text), file.digest, 'nothing in a file changes on the way');
        }
        const directory = uri.slice(0, uri.lastIndexOf('/'));
        const read = await ask('resources/directory/read', { uri: directory });
        const files: string[] = read.resources.map((file: Body) => file.uri);
        assert.deepEqual(files, [`${directory}/SKILL.md`, `${directory}/references/style.md`]);
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

/** As the list has it. */
async function entry(ask: Awaited<ReturnType<typeof asking>>, uri: string): Promise<Body> {
  return (await ask('skills/list')).skills.find((one: Body) => one.uri === uri);
}
