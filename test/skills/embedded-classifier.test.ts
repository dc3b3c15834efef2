/** The classifier that is shipped, on tools that it was not fitted to. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createEmbeddedClassifier } from '../../src/skills/embedded-classifier.ts';
import { defaultSkills, type Skill } from '../../src/skills/taxonomy.ts';
import type { ToolToClassify } from '../../src/skills/tool-to-classify.ts';
import { loadTrainedClassifier } from '../../src/skills/trained-classifier.ts';
import { embedder } from '../search/sample-tools.ts';

const trained = loadTrainedClassifier();
const withSkills = (skills: readonly Skill[]) => createEmbeddedClassifier(trained, embedder.embedText, skills);
const classify = withSkills(defaultSkills);

function tool(server: string, name: string, description: string, serverDescription = ''): ToolToClassify {
  const about = { name: server, description: serverDescription };
  return { id: 1, name, title: '', description, parameters: '', server: about };
}

const gardening: Skill = {
  id: 'gardening',
  name: 'Gardening',
  description: 'Plants, flowers and garden beds: water, sow, harvest.',
  examples: ['water the tulips', 'which flowers grow in the garden'],
};
const tulips = tool('garden', 'water_tulips', 'Water the tulips and other flowers in the garden beds.');

suite('the embedded classifier', () => {
  test('BR-004: the primary skill comes first, each with a confidence', () => {
    const cases: [ToolToClassify, string][] = [
      [tool('mail', 'send_email', 'Send an email to one or more recipients'), 'email'],
      [tool('forecast', 'get_forecast', 'Weather forecast for a city'), 'weather'],
      [tool('git', 'create_pull_request', 'Create a pull request in a repository'), 'code_management'],
      [tool('cluster', 'list_pods', 'List pods in a Kubernetes namespace'), 'containers'],
      [tool('tracker', 'create_issue', 'Create an issue in a project'), 'issue_tracking'],
      [tool('lookup', 'web_search', 'Search the web'), 'web_search'],
      [tool('registrar', 'dns_lookup', 'Look up the DNS records of a domain name'), 'networking'],
      [tool('demo', 'ping', 'Check that the server answers'), 'server_utilities'],
    ];
    for (const [one, expected] of cases) {
      const { skillIds, primarySkillId, assignments } = classify(one);
      assert.equal(primarySkillId, expected, one.name);
      assert.ok(skillIds[0] === expected && skillIds.length <= 3);
      for (const { confidence } of assignments) assert.ok(confidence >= 0.5 && confidence <= 1);
    }
  });

  test('SKL-001: nothing is assigned below the confidence that was found in cross-validation', () => {
    const { first, further } = trained.calibration;
    assert.ok(first.min >= 0.5 && further.min >= 0.5);
    const vague = [
      tool('', '', ''),
      tool('things', 'get', 'Get it'),
      tool('box', 'update_item', 'Update an item'),
      tulips,
    ];
    for (const one of vague) assert.deepEqual(classify(one).skillIds, [], one.name);
    const { assignments } = classify(tool('mail', 'send_email', 'Send an email'));
    for (const [place, { confidence }] of assignments.entries())
      assert.ok(confidence >= (place === 0 ? first.min : further.min));
  });

  test('SKL-001: words of several meanings are not sorted by the wrong one', () => {
    const environment = tool('everything', 'get-env', 'Returns all environment variables');
    const links = tool('everything', 'get-resource-links', 'Returns resource links that reference different types');
    const structured = tool('everything', 'get-structured-content', 'Returns structured content with an output schema');
    const sum = tool('everything', 'get-sum', 'Returns the sum of two numbers');
    assert.ok(!classify(environment).skillIds.includes('code_execution'));
    assert.ok(!classify(links).skillIds.includes('cloud_infrastructure'));
    assert.ok(!classify(structured).skillIds.includes('web_scraping'));
    assert.ok(!classify(sum).skillIds.includes('translation_and_text'));
  });

  test('SKL-002: the server says what a tool with a general name is for', () => {
    const label = (about: string) => classify(tool('catalog', 'get_label', 'Get a label', about)).primarySkillId;
    assert.equal(label('Search the mailbox, read, label and send email messages with Gmail'), 'email');
    assert.notEqual(label('Play music, manage playlists, artists and albums of record labels'), 'email');
  });

  test('SKL-003: an own skill is compared by its description, the others keep what was learned', () => {
    const mail = tool('mail', 'send_email', 'Send an email to one or more recipients');
    const own = withSkills([...defaultSkills, gardening]);
    assert.equal(own(tulips).primarySkillId, 'gardening');
    assert.deepEqual(own(mail), classify(mail));
  });

  test('SKL-003: a built-in skill that an admin described anew is compared by its description', () => {
    const changed = defaultSkills.map((skill) => (skill.id === 'email' ? { ...gardening, id: 'email' } : skill));
    assert.equal(withSkills(changed)(tulips).primarySkillId, 'email');
    const mail = tool('mail', 'send_email', 'Send an email to one or more recipients');
    assert.ok(!withSkills(changed)(mail).skillIds.includes('email'));
  });

  test('a skill that was removed is not assigned', () => {
    const rest = withSkills(defaultSkills.filter(({ id }) => id !== 'email'));
    assert.ok(!rest(tool('mail', 'send_email', 'Send an email')).skillIds.includes('email'));
  });
});
