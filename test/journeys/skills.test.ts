import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { type Body, startApp, type TestApp } from '../support/app.ts';
import { startHttpProgram } from '../support/servers/http-program.ts';
import type { RunningServer } from '../support/servers/http-wire.ts';
import { createProgram, text } from '../support/servers/program.ts';
import { untilSeen } from '../support/until.ts';

suite('skills', () => {
  let app: TestApp;
  let server: RunningServer;
  before(async () => {
    app = await startApp();
    const program = createProgram({
      info: { name: 'garden', version: '1.0.0' },
      tools: [
        {
          definition: {
            name: 'water_tulips',
            description: 'Water the tulips and other flowers in the garden beds.',
            inputSchema: { type: 'object' },
          },
          call: () => text('done'),
        },
      ],
    });
    server = await startHttpProgram(program, { transport: 'streamable-legacy' });
    await app.add('garden', { base_url: server.url });
  });
  after(async () => {
    await app.close();
    await server.close();
  });

  const gardening = {
    name: 'Gardening',
    description: 'Plants, flowers and garden beds: water, sow, harvest.',
    examples: ['water the tulips', 'which flowers grow in the garden'],
  };
  const put = (id: string, body: unknown, token?: string) => app.api('PUT', `/api/v1/skills/${id}`, body, { token });
  const tulips = async (): Promise<Body> =>
    (await app.api('GET', '/api/v1/aggregator/servers/garden/tools')).body.tools[0];
  const until = (isSo: (tool: Body) => boolean): Promise<Body> =>
    untilSeen(tulips, isSo, 'the skills of the tool have changed');

  test('a new installation has about forty skills, each with what it needs', async () => {
    const { body } = await app.api('GET', '/api/v1/skills');
    assert.ok(body.total >= 30 && body.total <= 60, String(body.total));
    for (const skill of body.skills)
      assert.ok(skill.name !== '' && skill.description !== '' && skill.examples.length > 0);
  });

  test('BR-004: a skill that is added, changed or removed classifies the tools anew', async () => {
    const created = await put('gardening', gardening);
    assert.deepEqual([created.status, created.body.id], [201, 'gardening']);
    // The tools are classified in the background, which may be done by now.
    assert.ok([0, 1].includes(created.body.tool_count), String(created.body.tool_count));
    const tool = await until(({ primary_skill_id: skill }) => skill === 'gardening');
    assert.ok(tool.skill_ids.includes('gardening') && tool.is_classified);
    assert.equal((await app.api('GET', '/api/v1/skills/gardening')).body.tool_count, 1);

    assert.equal((await put('gardening', { ...gardening, name: 'Garden' })).status, 200);
    const changed = await put('gardening', {
      name: 'Tax law',
      description: 'Declarations, deductions and deadlines of the tax office.',
      examples: ['file a tax return'],
    });
    assert.equal(changed.status, 200);
    await until(({ skill_ids: ids }) => !ids.includes('gardening'));
    assert.equal((await put('gardening', gardening)).status, 200);
    await until(({ primary_skill_id: skill }) => skill === 'gardening');

    assert.equal((await app.api('DELETE', '/api/v1/skills/gardening')).status, 204);
    const without = await until(({ skill_ids: ids }) => !ids.includes('gardening'));
    assert.notEqual(without.primary_skill_id, 'gardening');
    assert.equal((await app.api('GET', '/api/v1/skills/gardening')).status, 404);
    assert.equal((await app.api('DELETE', '/api/v1/skills/gardening')).status, 404);
    const { matched_skills: matched } = (await app.api('POST', '/api/v1/search', { query: 'water the tulips' })).body;
    assert.ok(!matched.some(({ id }: Body) => id === 'gardening'));
  });

  test('SKL-001, MON-002: a tool that no skill fits is classified, and raises no alert', async () => {
    const tool = await until(({ is_classified: done }) => done);
    assert.deepEqual([tool.skill_ids, tool.primary_skill_id, tool.classification_state], [[], null, 'CLASSIFIED']);
    const { body } = await app.api('GET', '/api/v1/aggregator/state');
    assert.deepEqual([body.total_tools, body.classified_tools, body.unclassified_tools], [1, 1, 0]);
    const headers = { authorization: `Bearer ${app.adminToken}` };
    const metrics = await (await fetch(`${app.url}/metrics`, { headers })).text();
    assert.match(metrics, /^mcp_aggregator_tools_total 1$/m);
    assert.match(metrics, /^mcp_aggregator_tools_classified 1$/m);
  });

  test('wrong skills are refused, and only an admin changes them', async () => {
    for (const [id, body] of [
      ['Upper', gardening],
      ['x'.repeat(65), gardening],
      ['1x', gardening],
      ['ok', {}],
      ['ok', { ...gardening, name: '' }],
      ['ok', { ...gardening, description: '' }],
      ['ok', { ...gardening, description: 'x'.repeat(1_001) }],
      ['ok', { ...gardening, examples: [''] }],
      ['ok', { ...gardening, examples: 'x' }],
      ['ok', { ...gardening, other: 1 }],
    ] as const)
      assert.equal((await put(id, body)).status, 422, JSON.stringify([id, body]).slice(0, 80));
    const { token } = (await app.api('POST', '/api/v1/tokens', { name: 'caller', role: 'caller' })).body;
    assert.equal((await put('ok', gardening, token)).status, 403);
    assert.equal((await app.api('DELETE', '/api/v1/skills/email', undefined, { token })).status, 403);
    const { audit } = (await app.api('GET', '/api/v1/aggregator/audit?event=skill.removed')).body;
    assert.equal(audit[0].details.skill, 'gardening');
  });
});
