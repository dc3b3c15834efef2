/** A document store whose search always returns the five best passages, however badly they fit. No annotations. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';
import { failure, json, start, writes } from './stand-in.ts';

/** Title and passage. */
const passages: [string, string][] = [
  [
    'Heron manual, 2.1',
    'The Heron measures the water level with a ceramic pressure cell. The cell is vented through the cable, so that the air pressure cancels out.',
  ],
  [
    'Heron manual, 2.4',
    'Lower the Heron into the stilling well until it hangs 30 cm above the ground. It must never lie in the mud.',
  ],
  [
    'Heron manual, 3.2',
    'Zero the Heron in air before the first use. Press the service button until the lamp blinks blue three times.',
  ],
  [
    'Heron manual, 6.1',
    'The warranty of the Heron is 36 months from the day of delivery. Damage by lightning is excluded.',
  ],
  [
    'Wren manual, 1.3',
    'The Wren measures wind, rain, temperature, humidity and air pressure. It has no moving parts except the rain bucket.',
  ],
  [
    'Wren manual, 2.2',
    'Mount the Wren so that the arrow points to true north. The magnetic declination is set in the portal.',
  ],
  [
    'Wren manual, 2.5',
    'The cable between the Wren and its logger may be 25 m long at most. Use a repeater beyond that.',
  ],
  ['Wren manual, 4.1', 'Clean the rain funnel every spring. A teaspoon of citric acid in warm water removes lime.'],
  ['Wren manual, 6.1', 'The warranty of the Wren is 18 months from the day of delivery.'],
  [
    'Plover manual, 1.1',
    'The Plover is a logger with four analogue and two digital inputs. It stores 900,000 readings.',
  ],
  ['Plover manual, 3.3', 'With one reading every 15 minutes the lithium cell of the Plover lasts 7 years.'],
  ['Plover manual, 3.4', 'Never charge the lithium cell. Spent cells go back to us in the grey box.'],
  [
    'Plover manual, 5.2',
    'The lamp of the Plover is green when connected, amber while searching and red when the memory is full.',
  ],
  [
    'Siskin manual, 1.2',
    'The Siskin collects the readings of up to 64 loggers within 3 km and passes them on over 4G or Ethernet.',
  ],
  ['Siskin manual, 2.1', 'Register a new Siskin with the 12 letters printed below its lid. The code works once.'],
  ['Siskin manual, 4.4', 'When the network is gone, the Siskin keeps readings for 45 days and sends them later.'],
  [
    'Calibration procedure KP-03',
    'Temperature probes are compared at minus 10, 0 and 30 degrees in the alcohol bath. The deviation may reach 0.15 K.',
  ],
  [
    'Calibration procedure KP-04',
    'Pressure cells are compared at five points with the deadweight tester. The deviation may reach 0.05 per cent.',
  ],
  [
    'Calibration procedure KP-07',
    'Rain buckets receive 500 ml within ten minutes from the peristaltic pump. They must count 246 to 254 tips.',
  ],
  ['Packing instruction V-11', 'Masts are packed in tubes of 1.8 m. Two people lift them. Stack at most four layers.'],
  [
    'Packing instruction V-14',
    'Gauges travel in foam with the membrane upward. Add a bag of drying agent and the shock label.',
  ],
  [
    'Returns',
    'Devices that come back receive an RMA number first. Without it the parcel waits on shelf 9 for two weeks.',
  ],
  [
    'Complaints',
    'Every complaint is answered within two working days. Paula Lindqvist decides about goodwill up to 600 euros.',
  ],
  [
    'Case study: Solvik',
    'With eleven gauges the municipality of Solvik saw the flood of 2024 six hours earlier than the state service.',
  ],
  ['Case study: Alentejo', 'In Beja a network of rain collectors cut the water used for irrigation by 23 per cent.'],
  ['Case study: Lagan', 'The rowing club closes the river by itself when the flow passes 85 cubic metres a second.'],
  ['Tender text, water level', 'The gauge shall resolve 1 mm, withstand 3 bar of overload and carry the mark IP68.'],
  ['Tender text, weather', 'The station shall measure gusts up to 75 m/s and survive ice of 3 cm.'],
  [
    'Radio approval',
    'The radio of the Siskin is approved for the European Union under the number RED-0682-4471, for Brazil the approval is pending.',
  ],
  [
    'Recycling',
    'Our number in the register of electrical equipment is DE 31948827. Old devices are taken back free of charge.',
  ],
  [
    'Style guide',
    'Write Tarnwell with a capital T. The logo keeps a margin of one letter height. Body text is set in Source Serif.',
  ],
  [
    'Glossary',
    'Stage is the height of the water above the zero of the gauge. Discharge is the volume that passes per second.',
  ],
  ['Data format', 'Readings are sent as CBOR. A missing value is encoded as undefined, not as zero or minus 999.'],
  ['API limits', 'A token may make 600 requests a minute. Above that the portal answers 429 with the seconds to wait.'],
  [
    'Security white paper',
    'Devices sign each packet with Ed25519. Keys are made in the factory and never leave the chip.',
  ],
  [
    'Accessibility statement',
    'The portal meets WCAG 2.2 at level AA except for the map, for which a table is offered.',
  ],
  [
    'Price list notes',
    'Schools and universities receive a discount of 35 per cent on all stations, not on accessories.',
  ],
  [
    'Rental terms',
    'Rented stations cost 4 per cent of the list price a month. After 20 months they belong to the customer.',
  ],
  [
    'Training',
    'The course for installers takes two days in Aarhus, at most eight people. It ends with a test at the weir.',
  ],
  ['Sponsoring', 'We sponsor the rescue swimmers of Hornsea and the chess club of Egå.'],
];

const documents = passages.map(([title, passage], at) => ({ document_id: `doc_${(at + 3) * 97}`, title, passage }));

const smallWords = new Set(
  'and are does for from has have how its long many much not that the what when which who with'.split(' '),
);

/** Word beginnings stand in for an embedding: related forms of a word count as the same. */
const stems = (text: string) => {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [];
  return new Set(words.filter((word) => !smallWords.has(word)).map((word) => word.slice(0, 5)));
};
const indexed = documents.map((document) => ({ document, stems: stems(`${document.title} ${document.passage}`) }));
const rarity = (stem: string) =>
  Math.log(documents.length / (0.5 + indexed.filter((entry) => entry.stems.has(stem)).length));

function similarity(wanted: Set<string>, own: Set<string>): number {
  const shared = [...wanted]
    .filter((stem) => own.has(stem))
    .reduce((sum, stem) => sum + Math.max(0.1, rarity(stem)), 0);
  return Number((0.61 + Math.min(0.3, shared / 60)).toFixed(4));
}

const server = new McpServer({ name: 'vectorshelf', version: '0.6.1' });
server.registerTool(
  'semantic_search',
  {
    description: 'Find the passages of manuals, procedures and case studies that are closest in meaning to a query.',
    inputSchema: { query: z.string().describe('Natural language query'), collection: z.string().optional() },
  },
  ({ query }) => {
    const wanted = stems(query);
    const matches = indexed
      .map(({ document, stems: own }) => ({ score: similarity(wanted, own), ...document }))
      .toSorted((a, b) => b.score - a.score)
      .slice(0, 5);
    return json({ matches });
  },
);
server.registerTool(
  'fetch_document',
  { description: 'Fetch a passage by its id.', inputSchema: { document_id: z.string() } },
  ({ document_id }) => {
    const document = documents.find((row) => row.document_id === document_id);
    return document === undefined ? failure('not found') : json(document);
  },
);
writes(server, 'upsert_document', 'Add or replace a document.', { title: z.string(), text: z.string() });
writes(server, 'delete_document', 'Delete a document.', { document_id: z.string() });
writes(server, 'reindex_collection', 'Compute all vectors again.', { collection: z.string().optional() });

await start(server);
