import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  changes,
  isRemoteControl,
  judgeReadOnly,
  nameWords,
  type ReadTraits,
  readsByName,
} from '../../../src/query/strategy/read-only.ts';

const annotated = (...names: string[]): ReadTraits[] =>
  names.map((name) => ({ name, annotations: { readOnlyHint: true } }));
const named = (...names: string[]): ReadTraits[] => names.map((name) => ({ name }));
const described = (...tools: [string, string][]): ReadTraits[] =>
  tools.map(([name, description]) => ({ name, description }));

function assertAll(tools: readonly ReadTraits[], reads: boolean): void {
  for (const tool of tools) assert.equal(judgeReadOnly(tool).reads, reads, JSON.stringify(tool));
}

test('an annotated reader is trusted, also where its name could be an act', () => {
  assertAll(
    annotated(
      ...['email_search', 'log_search', 'order_lookup', 'open_nodes', 'post_search', 'bill_lookup', 'anything'],
      ...['order_status', 'deploy_status', 'file_info', 'call_history', 'run_query', 'execute_query', 'extract_text'],
    ),
    true,
  );
});

test('Q-015: no annotation makes a reader of a clear act', () => {
  assertAll(
    annotated(
      ...['delete_all', 'delete_user', 'user_remove', 'issue_delete', 'file_upload', 'create_issue', 'send_email'],
      ...['update_user', 'update_status', 'set_status', 'close_issue', 'start_server', 'run_code', 'execute_command'],
      ...['write_query', 'search_and_replace', 'get_or_create_user', 'google_docs_create_view'],
    ),
    false,
  );
});

test('a tool that acts on a live browser, device or session is never a reader', () => {
  const live = [
    ...['browser_wait_for', 'browser_navigate', 'browser_click', 'browser_snapshot', 'browser_take_screenshot'],
    ...['browser_console_messages', 'browserClick', 'navigate_page', 'take_snapshot', 'wait_for', 'click', 'list_tabs'],
    ...['mouse_move', 'device_tap', 'open_browser', 'open_url', 'open_app', 'open_door'],
  ];
  assertAll([...annotated(...live), ...named(...live)], false);
  assertAll(described(['browser_wait_for', 'Wait for text to appear or disappear']), false);
});

test('a server that navigates and clicks is a remote control; one such word is none', () => {
  assert.equal(isRemoteControl(named('navigate_page', 'click', 'list_pages')), true);
  assert.equal(isRemoteControl(named('browser_navigate', 'browser_hover')), true);
  assert.equal(isRemoteControl(named('tap_list', 'search_beers')), false);
});

test('annotations that contradict a reading name win; destructive means something only without readOnlyHint', () => {
  for (const [annotations, reads] of [
    [{ readOnlyHint: false }, false],
    [{ destructiveHint: true }, false],
    [{ destructiveHint: false }, true],
    [{ readOnlyHint: true, destructiveHint: true }, true],
  ] as const)
    assert.equal(judgeReadOnly({ name: 'search_docs', annotations }).reads, reads, JSON.stringify(annotations));
});

test('Q-015: without annotations, the verb of the name decides, wherever it stands', () => {
  assertAll(
    named(
      ...['search_docs', 'getLibraryDocs', 'resolve-library-id', 'list_orders', 'get_post', 'find_deleted_items'],
      ...['email_search', 'order_lookup', 'slack_list_channels', 'git_show', 'get_build_status', 'count_votes'],
      ...['arrivals', 'jobs_of_customer', 'who_is_on_call', 'stock_list', 'recent_changes', 'search_and_fetch'],
    ),
    true,
  );
  assertAll(
    named(
      ...['create_entities', 'post_message', 'send_email', 'order_pizza', 'slack_post_message', 'purge', 'move_file'],
      ...['get_or_create_user', 'search_and_replace', 'list_and_close_issues', 'read_and_delete', 'feed_cat'],
      ...['trello_create_list', 'trello_update_list', 'todo_add_list', 'update_list', 'update_query', 'save_search'],
      ...['mark_as_read', 'gmail_mark_read', 'start_scan', 'run_scan', 'schedule_meeting'],
    ),
    false,
  );
});

test('what follows a reading verb can make an act of it', () => {
  assertAll(
    named(
      ...['check_out_book', 'check_in', 'get_rid_of_cache', 'show_notification', 'resolve_issue', 'check_and_fix'],
      ...['get_and_flush', 'top_up', 'all_off', 'lights_on'],
    ),
    false,
  );
});

test('a name that says nothing needs a description that does', () => {
  assertAll(named('wikipedia', 'ban_user', 'order_status', 'water_plants'), false);
  assertAll(
    described(
      ['wikipedia', 'Searches Wikipedia for a set of articles.'],
      ['git_branch', 'List Git branches'],
      ['git_log', 'Shows the commit logs'],
      ['order_status', 'Returns the status of an order'],
      ['build_status', 'Status of the last build'],
      ['share_list', 'Lists the shares of the company'],
      ['rota', 'Who is on duty on a day'],
      ['probe', 'Run a probe without modifying data'],
    ),
    true,
  );
  assertAll(
    described(
      ['git_commit', 'Records changes to the repository'],
      ['git_checkout', 'Switches branches'],
      ['share_list', 'Shares list with people'],
      ['water_plants', 'Water the plants on the terrace'],
      ['member', 'Removal of a member'],
      ['bounce', 'Restart the service without changing its configuration'],
      ['maintenance', 'Turns read-only mode off'],
    ),
    false,
  );
});

test('the first sentence tells what a tool does; advice in later ones does not count', () => {
  assertAll(
    described(
      ['search_issues', 'Search issues. Use this before you create an issue, to avoid duplicates.'],
      ['search_issues', 'Search issues. To create one, use create_issue.'],
      ['search_nodes', 'Search for nodes in the knowledge graph based on a query'],
      ['fetch', 'Fetches a URL and optionally extracts its contents as markdown.'],
    ),
    true,
  );
  assertAll(
    described(
      ['find_user', 'Finds a user. Creates the user if there is none.'],
      ['get_token', 'Get a token and charge the card.'],
      ['fetch_mail', 'Fetch mail and mark it as read'],
      ['lookup', 'Looks up a record and deletes it'],
    ),
    false,
  );
});

test('executing a query reads, executing anything else or a query that writes does not', () => {
  assertAll(
    described(
      ['read_query', 'Execute a SELECT query on the SQLite database'],
      ['query', 'Run a read-only SQL query'],
      ['query', 'Execute a SQL query'],
      ['run_query', 'Runs a query against the warehouse'],
    ),
    true,
  );
  assertAll(
    described(
      ['query', 'Execute a statement'],
      ['query', 'Execute a DELETE query'],
      ['run_update_query', 'Run an UPDATE query'],
      ['write_query', 'Execute an INSERT, UPDATE, or DELETE query'],
    ),
    false,
  );
});

test('a refusal says why', () => {
  for (const [tool, reason] of [
    [{ name: 'delete_user' }, /its name implies .*"delete"/],
    [{ name: 'search', annotations: { readOnlyHint: false } }, /annotation says that it writes/],
    [{ name: 'search', annotations: { destructiveHint: true } }, /annotation says that it is destructive/],
    [{ name: 'browser_click' }, /live browser/],
    [{ name: 'find_user', description: 'Finds a user. Creates it if missing.' }, /its description says/],
    [{ name: 'wikipedia' }, /nothing says/],
  ] as const) {
    const verdict = judgeReadOnly(tool);
    assert.match(verdict.reads ? 'reads' : verdict.reason, reason, tool.name);
  }
});

test("a server's own prefix is not taken for a verb", () => {
  assert.equal(judgeReadOnly({ name: 'post_list_parcels' }, new Set(['post'])).reads, true);
  assert.equal(judgeReadOnly({ name: 'post_cancel_parcel' }, new Set(['post'])).reads, false);
});

test('names come apart at signs and capitals', () => {
  for (const [name, words] of [
    ['get_library-docs', 'get library docs'],
    ['getLibraryDocs', 'get library docs'],
    ['getHTTPStatus', 'get http status'],
    ['v2.search', 'v2 search'],
  ] as const)
    assert.equal(nameWords(name).join(' '), words, name);
});

test('values of a choice: what clearly changes something, and what is known to read', () => {
  for (const [value, isChange, reads] of [
    ['delete', true, false],
    ['create_member', true, false],
    ['click', true, false],
    ['get_comments', false, true],
    ['history', false, true],
    ['update', false, false],
    ['fees', false, true],
    ['fix', false, false],
  ] as const) {
    assert.equal(changes(nameWords(value)), isChange, value);
    assert.equal(readsByName(nameWords(value)), reads, value);
  }
});
