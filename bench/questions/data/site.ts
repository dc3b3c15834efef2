/** The pages that the benchmark serves on loopback for the fetch server: path, title and body. */
export const site: Record<string, [title: string, body: string]> = {
  '/ferry': [
    'Island ferry',
    '<h1>Timetable of the island ferry</h1><p>The first boat leaves the mainland at 06:35, the last one returns at 22:10.</p><p>Bicycles cost 31 kroner each way. Dogs travel free.</p><p>In storms above 20 m/s the boat stays in the harbour.</p>',
  ],
  '/museum': [
    'Museum of tides',
    '<h1>Visiting the Museum of Tides</h1><p>Open daily except Mondays. Guided tours start at 11:00 and at 15:00 and take 70 minutes.</p><p>The tide machine of 1911 was built by Augustin Kerleo.</p><table><tr><th>Ticket</th><th>Price</th></tr><tr><td>Adults</td><td>84 kroner</td></tr><tr><td>Students</td><td>52 kroner</td></tr></table>',
  ],
  '/release-notes': [
    'Release notes',
    '<h1>Gaugeview 7.3</h1><h2>New</h2><ul><li>Curves can be exported as SVG.</li><li>The minimum version of PostgreSQL is now 15.</li></ul><h2>Fixed</h2><ul><li>The cursor no longer jumps in the table, thanks to Beate Olafsen.</li></ul>',
  ],
  '/jobs': [
    'Open positions',
    '<h1>Open positions</h1><h2>Hydrologist</h2><p>Full time in Leeds, reference TW-H-61, apply until 18 January.</p><h2>Welder</h2><p>Part time in Aarhus, reference TW-W-07, apply until 2 February.</p>',
  ],
};
