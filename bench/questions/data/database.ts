/** The database of rented stations: customers, technicians, stations, parts, work orders, parts used, alarms. */
import { DatabaseSync } from 'node:sqlite';
import { createSampler } from '../servers/stand-in.ts';

const schema = `
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT, country TEXT, contract_no TEXT);
CREATE TABLE technicians (id INTEGER PRIMARY KEY, name TEXT NOT NULL, base TEXT, licence_class TEXT, hired_on TEXT);
CREATE TABLE stations (id INTEGER PRIMARY KEY, code TEXT UNIQUE, site TEXT, model TEXT, serial_no TEXT, elevation_m REAL,
  installed_on TEXT, customer_id INTEGER REFERENCES customers(id));
CREATE TABLE parts (part_no TEXT PRIMARY KEY, name TEXT, unit_price REAL, stock INTEGER, shelf TEXT);
CREATE TABLE work_orders (id INTEGER PRIMARY KEY, station_id INTEGER REFERENCES stations(id),
  technician_id INTEGER REFERENCES technicians(id), done_on TEXT, kind TEXT, cost REAL, remark TEXT);
CREATE TABLE parts_used (work_order_id INTEGER REFERENCES work_orders(id), part_no TEXT REFERENCES parts(part_no), quantity INTEGER);
CREATE TABLE alarms (id INTEGER PRIMARY KEY, station_id INTEGER REFERENCES stations(id), raised_at TEXT, level_m REAL, severity TEXT);
`;

const customers = `
Humber Drainage Board|Hull|GB
Tidewater Board|Norwich|GB
Egå Spildevand|Aarhus|DK
Wasserverband Treene|Husum|DE
Águas do Sabor|Bragança|PT
Glen Orrin Estate|Inverness|GB
Kommune Solvik|Bergen|NO
Polder Zuidwolde|Assen|NL
Lac de Vire|Caen|FR
Ostrava Waterworks|Ostrava|CZ
Marina Lagan|Belfast|GB
Isar Kraftwerke|Landshut|DE`;
const technicians = `
Ida Kvist|Aarhus|C1E
Owen Pritchard|Leeds|C1
Rasmus Thygesen|Aarhus|B
Fenella Marr|Inverness|BE
Joaquim Teles|Porto|B
Bettina Roth|Husum|BE
Gwyn Parry|Leeds|B
Mirela Kos|Landshut|C1`;
const sites = `
Kilnsea|Spurn|Hornsea|Whitby|Staithes|Weir Lane|Mill Bridge|Sluice ConcurrencyLimit 4|Reed Bank|Otter Pool|Long Ford|Tern Island
Upper Lock|Lower Lock|Salt Marsh|Chapel Well|Quarry Pond|Beacon Hill|Eel Weir|Stone Quay|Alder Fen|North Pier|South Pier|Bell Tower`;
const parts = `
60-101|Vent tube 3 mm|1.85
60-118|Titanium housing|412.00
60-130|Drying cartridge|9.40
60-155|Membrane, ceramic|14.20
60-207|Gasket, wide|3.15
60-208|Gasket, narrow|2.95
60-233|Lithium cell D|21.60
60-260|Solar panel 10 W|48.00
60-261|Solar panel 20 W|79.00
60-290|Antenna, short|17.50
60-291|Antenna, long|26.30
60-342|Bird spikes|6.75
60-377|Lightning arrester|88.20
60-415|Gel connector|4.10
60-460|Stilling well 2 m|164.00
60-501|Mast clamp|12.80`;
const remarks = [
  'Cleaned',
  'Replaced a worn part',
  'Adjusted the zero',
  'Nothing found',
  'Cut back reeds',
  'Updated firmware',
] as const;

const rowsOf = (lines: string) =>
  lines
    .trim()
    .split('\n')
    .map((line) => line.split('|'));

export function createDatabase(file: string): void {
  const database = new DatabaseSync(file);
  const sampler = createSampler(71);
  const day = (year: number) => `${year}-${two(sampler.between(1, 12))}-${two(sampler.between(1, 28))}`;
  const insert = (table: string, rows: (string | number | undefined)[][]) => {
    const statement = database.prepare(`INSERT INTO ${table} VALUES (${rows[0]?.map(() => '?').join(', ')})`);
    for (const row of rows) statement.run(...row.map((value) => value ?? null));
  };
  database.exec(schema);
  database.exec('BEGIN');
  insert(
    'customers',
    rowsOf(customers).map((row, at) => [
      at + 1,
      ...row,
      `FC-${sampler.between(2000, 2999)}-${sampler.between(10, 99)}`,
    ]),
  );
  insert(
    'technicians',
    rowsOf(technicians).map((row, at) => [at + 1, ...row, day(sampler.between(2011, 2023))]),
  );
  insert(
    'stations',
    [1, 2].flatMap((half) =>
      rowsOf(sites)
        .flat()
        .map((site, at) => {
          const id = half * 24 - 23 + at;
          const serial = `${sampler.pick(['HX', 'HN', 'WQ'])}${sampler.between(100000, 999999)}`;
          const place = `${site}${half === 2 ? ' (upstream)' : ''}`;
          const elevation = sampler.between(5, 900) / 10;
          const customer = 1 + ((at * 5 + half) % 12);
          return [
            id,
            `TW-0${100 + id * 6}`,
            place,
            sampler.pick(['Heron', 'Wren']),
            serial,
            elevation,
            day(2022),
            customer,
          ];
        }),
    ),
  );
  insert(
    'parts',
    rowsOf(parts).map(([number, name, price]) => [
      ...[number, name, Number(price), sampler.between(3, 480)],
      `${sampler.pick(['A', 'B', 'C'])}${sampler.between(1, 9)}-${sampler.between(10, 60)}`,
    ]),
  );
  insert(
    'work_orders',
    Array.from({ length: 140 }, (_, at) => [
      ...[at + 4001, sampler.between(1, 48), sampler.between(1, 8), day(sampler.pick([2024, 2025, 2026]))],
      ...[sampler.pick(['service', 'repair', 'inspection']), sampler.between(4000, 98000) / 100, sampler.pick(remarks)],
    ]),
  );
  insert(
    'parts_used',
    Array.from({ length: 180 }, () => {
      const [part] = rowsOf(parts)[sampler.between(0, 15)] ?? [];
      return [sampler.between(4001, 4140), part, sampler.between(1, 4)];
    }),
  );
  insert(
    'alarms',
    Array.from({ length: 330 }, (_, at) => [
      ...[
        at + 1,
        sampler.between(1, 48),
        `${day(sampler.pick([2025, 2026]))} ${two(sampler.between(0, 23))}:${two(sampler.between(0, 59))}`,
      ],
      ...[sampler.between(120, 690) / 100, sampler.pick(['notice', 'warning', 'severe'])],
    ]),
  );
  database.exec('COMMIT');
  database.close();
}

const two = (value: number) => String(value).padStart(2, '0');
