/** A live browser: its tools look harmless, but each one acts on a page that a person is using. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';
import { start, writes } from './stand-in.ts';

const server = new McpServer({ name: 'live-tab', version: '0.3.0' });
const ref = z.string().describe('Reference of the element');

writes(server, 'navigate', 'Go to an address.', { url: z.string() });
writes(server, 'open', 'Open a page or a bookmark by its name.', { query: z.string() });
writes(server, 'wait_for', 'Wait until a text is shown on the page.', {
  text: z.string().describe('Text to wait for'),
});
writes(server, 'click', 'Click an element of the page.', { ref });
writes(server, 'hover', 'Move the pointer over an element.', { ref });
writes(server, 'go_back', 'Go back in the history of the tab.');
writes(server, 'reload', 'Load the page again.');
writes(server, 'scroll_to', 'Scroll until a text is visible.', { text: z.string() });
writes(server, 'press_key', 'Press a key.', { key: z.string() });
writes(server, 'find_and_highlight', 'Find a text on the page and highlight it for the user.', { text: z.string() });

await start(server);
