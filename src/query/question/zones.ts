/** Time zones and clock times that a question names. */

/** Large cities and countries of one zone that the zone database lists under another name. */
const places: Readonly<Record<string, string>> = {
  'Asia/Shanghai': 'beijing china shenzhen',
  'Asia/Kolkata': 'kolkata india mumbai delhi bangalore bengaluru chennai',
  'Asia/Tokyo': 'japan osaka kyoto',
  'Asia/Seoul': 'korea',
  'Asia/Dubai': 'emirates',
  'Asia/Karachi': 'pakistan',
  'Asia/Kathmandu': 'kathmandu nepal',
  'Asia/Ho_Chi_Minh': 'saigon vietnam',
  'Asia/Yangon': 'yangon myanmar',
  'Europe/Kyiv': 'kyiv kiev ukraine',
  'America/Nuuk': 'nuuk greenland',
  'Asia/Bangkok': 'thailand',
  'Asia/Manila': 'philippines',
  'Asia/Jerusalem': 'israel',
  'America/Los_Angeles': 'california seattle portland pacific',
  'America/New_York': 'boston miami atlanta philadelphia washington eastern nyc',
  'America/Chicago': 'houston dallas austin texas central',
  'America/Denver': 'mountain colorado',
  'America/Toronto': 'montreal ottawa',
  'America/Sao_Paulo': 'rio brasilia',
  'America/Argentina/Buenos_Aires': 'argentina',
  'Europe/Berlin': 'germany munich hamburg frankfurt cologne',
  'Europe/London': 'england uk britain manchester edinburgh',
  'Europe/Paris': 'france lyon',
  'Europe/Madrid': 'spain barcelona',
  'Europe/Rome': 'italy milan',
  'Europe/Zurich': 'switzerland geneva basel',
  'Europe/Lisbon': 'portugal porto',
  'Europe/Amsterdam': 'netherlands',
  'Europe/Istanbul': 'turkey',
  'Europe/Warsaw': 'poland',
  'Europe/Athens': 'greece',
  'Africa/Johannesburg': 'southafrica',
  'Africa/Cairo': 'egypt',
  'Africa/Lagos': 'nigeria',
  'Africa/Nairobi': 'kenya',
  'Pacific/Auckland': 'wellington',
  UTC: 'utc gmt zulu',
};

const several: Readonly<Record<string, string>> = {
  'san francisco': 'America/Los_Angeles',
  'los angeles': 'America/Los_Angeles',
  'las vegas': 'America/Los_Angeles',
  'new delhi': 'Asia/Kolkata',
  'ho chi minh': 'Asia/Ho_Chi_Minh',
  'buenos aires': 'America/Argentina/Buenos_Aires',
  'cape town': 'Africa/Johannesburg',
  'south africa': 'Africa/Johannesburg',
  'new zealand': 'Pacific/Auckland',
  'south korea': 'Asia/Seoul',
  'united kingdom': 'Europe/London',
  'abu dhabi': 'Asia/Dubai',
};

let known: ReadonlyMap<string, string> | undefined;

function zonesByPlace(): ReadonlyMap<string, string> {
  const listed = Intl.supportedValuesOf('timeZone').map((zone): [string, string] => [
    (zone.split('/').at(-1) ?? zone).replaceAll('_', ' ').toLowerCase(),
    zone,
  ]);
  const others = Object.entries(places).flatMap(([zone, names]) =>
    names.split(' ').map((name): [string, string] => [name, zone]),
  );
  return new Map([...listed, ...others, ...Object.entries(several)]);
}

interface NamedZone {
  zone: string;
  at: number;
}

/** In the order of the text; the longest name at a place wins ("New York" before "York"). */
export function findZones(text: string): NamedZone[] {
  known ??= zonesByPlace();
  const exact = [...text.matchAll(/\b[A-Z][A-Za-z]+\/[A-Z][A-Za-z_]+(?:\/[A-Z][A-Za-z_]+)?\b/g)];
  if (exact.length > 0) return exact.map((match) => ({ zone: match[0], at: match.index }));
  const words = [...text.toLowerCase().matchAll(/[\p{L}]{1,5000}/gu)].map((match) => ({
    text: match[0],
    at: match.index,
  }));
  const found: NamedZone[] = [];
  for (let index = 0; index < words.length; index += 1) {
    for (const length of [3, 2, 1]) {
      const name = words
        .slice(index, index + length)
        .map((word) => word.text)
        .join(' ');
      const zone = known.get(name);
      if (zone === undefined) continue;
      found.push({ zone, at: words[index]?.at ?? 0 });
      index += length - 1;
      break;
    }
  }
  return found;
}

/** "9:00", "15.30", "3pm", "noon" as HH:MM. */
export function findClockTime(text: string): { time: string; at: number } | undefined {
  const word = /\b(noon|midday|midnight)\b/i.exec(text);
  if (word !== null) return { time: word[1]?.toLowerCase() === 'midnight' ? '00:00' : '12:00', at: word.index };
  const match =
    /\b(?<h>[01]?\d|2[0-3])[:.](?<m>[0-5]\d)\s*(?<half>am|pm)?\b/i.exec(text) ??
    /\b(?<h>1[0-2]|0?[1-9])\s*(?<half>am|pm|a\.m\.|p\.m\.)/i.exec(text) ??
    /\b(?<h>[01]?\d|2[0-3])\s*(?:o'clock|h\b|uhr)/i.exec(text);
  if (match?.groups === undefined) return undefined;
  const { h = '0', m = '00', half } = match.groups;
  const hour = half === undefined ? Number(h) : (Number(h) % 12) + (/^p/i.test(half) ? 12 : 0);
  return { time: `${String(hour).padStart(2, '0')}:${m}`, at: match.index };
}
