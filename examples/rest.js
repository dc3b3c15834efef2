/** The REST API with `fetch`: health, servers, a call, a search for tools. */
import { findTarget } from './target.js';

const { url, token } = findTarget();

console.log('Health:', (await request('GET', '/api/v1/aggregator/health')).status);

const { servers } = await request('GET', '/api/v1/aggregator/servers');
for (const { name, status, tool_count: tools } of servers) console.log(`Server ${name}: ${status}, ${tools} tools`);

const time = await request('POST', '/api/v1/tools/call', { name: 'clock.time_in', arguments: { zone: 'Asia/Tokyo' } });
console.log('In Tokyo:', time.content[0].text);

const { tools } = await request('POST', '/api/v1/search', { query: 'read the content of a file', limit: 3 });
for (const { name, score } of tools) console.log(`Found ${name} (${score.toFixed(2)})`);

async function request(method, path, body) {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(30_000),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer.detail)}`);
  return answer;
}
