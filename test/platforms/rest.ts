/** What the tests of a platform ask the aggregator, over REST. */
import assert from 'node:assert/strict';
import type { AggregatorProcess } from '../support/aggregator-process.ts';
import { until } from '../support/until.ts';

export async function api(aggregator: AggregatorProcess, method: string, path: string, body?: unknown) {
  const response = await fetch(`${aggregator.url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${aggregator.token}`, 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  assert.ok(response.ok, `${method} ${path}: ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}

export async function add(aggregator: AggregatorProcess, name: string, command: string, args: string[]): Promise<void> {
  const registration = { name, transport_type: 'STDIO', connection_config: { command, args } };
  await api(aggregator, 'POST', '/aggregator/servers', registration);
  await until(async () => {
    const { status, tool_count, error_message } = await api(aggregator, 'GET', `/aggregator/servers/${name}`);
    assert.notEqual(status, 'ERROR', error_message);
    return status === 'CONNECTED' && tool_count > 0;
  }, `${name} is connected`);
}

export async function call(aggregator: AggregatorProcess, tool: string): Promise<unknown> {
  const { content } = await api(aggregator, 'POST', '/tools/call', { name: tool });
  return JSON.parse(content[0].text);
}
