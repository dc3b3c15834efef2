/** The shared folder of the company: path and text of every file. */
export const docs: Record<string, string> = {
  'policies/leave.md': `# Leave
Holidays are requested in the portal at least four weeks ahead. Your lead answers within three working days.

## Parents
Each parent receives 16 weeks of paid leave. The weeks may be split once. Tell Oona Salmi three months before the birth.

## Care
Up to ten days a year may be taken to look after a sick relative. No certificate is needed for the first two.
`,
  'policies/travel.md': `# Travel
Trains come first when the journey takes less than seven hours. Flights are booked by the travel desk, never on private cards.

Hotels may cost 145 euros a night, in London and Oslo 190. A breakfast that is included lowers the daily rate by a fifth.

Kilometres in a private car are paid at 38 cents. Parking fines are not paid.
`,
  'policies/data-retention.md': `# How long we keep data
Readings of customers are kept for as long as the contract runs and two years beyond.
Application logs are kept for 90 days. Backups of databases are kept for 13 months.
Applications of candidates who were not hired are deleted after 6 months.
`,
  'policies/remote-work.md': `# Working from elsewhere
You may work from another country of the European Union for up to 45 days a year. Tell Oona Salmi the dates beforehand, because of the social insurance.

The company pays for a chair once, up to 320 euros, and for a monitor arm. Electricity is not reimbursed.
`,
  'policies/security.md': `# Security
Lock the screen when you leave the desk. Lost key cards are reported to extension 250 at once, at night to the guard of Securo.

Found a weakness? Write to security@tarnwell.example. We pay rewards of up to 2,750 euros for reports from outside.
`,
  'policies/procurement.md': `# Buying things
Orders up to 500 euros need no approval. Up to 5,000 your lead approves, above that Leopold Kranz asks for three offers.
New suppliers fill in form P-12. We pay after 30 days unless a discount of 2 per cent is offered.
`,
  'policies/visitors.md': `# Visitors
Visitors sign in at the reception and wear the yellow badge. Groups of more than six are announced to Ingrid Moe two days ahead.
Photographs are allowed in the showroom only. The clean room may be seen through the window of corridor C.
`,
  'policies/gifts.md': `# Gifts
Gifts worth more than 40 euros are declined with thanks or go into the raffle at the summer party. Invitations to meals are fine when there is an occasion.
`,
  'products/heron-datasheet.md': `# Heron, water level gauge
Range 0 to 10 m, accuracy 3 mm, resolution 1 mm. Housing of stainless steel, on request of titanium for salt water.
Cable with vent tube, 10 to 200 m. Working temperature minus 20 to plus 60 degrees.
Weight without cable: 340 g. Warranty: 24 months.
`,
  'products/wren-datasheet.md': `# Wren, weather station
Wind by ultrasound up to 75 m/s, rain by tipping bucket of 200 cm2, temperature, humidity and pressure behind a ventilated shield.
Consumption 0.4 W without and 18 W with heating. Weight 2.6 kg. Mast diameter 34 to 50 mm.
`,
  'products/plover-datasheet.md': `# Plover, data logger
Four analogue and two digital inputs, 24 bit. Memory for 900,000 readings. Radio 868 MHz, range 3 km in open country.
Protection IP67. One lithium cell of size D. Dimensions 122 by 80 by 55 mm.
`,
  'products/siskin-datasheet.md': `# Siskin, gateway
Collects from up to 64 loggers. Uplink by 4G or Ethernet. Power over Ethernet or 12 V.
Two SIM slots; the second takes over after 8 minutes without a connection. Weight 510 g.
`,
  'products/roadmap-2026.md': `# Roadmap 2026
First quarter: portal with dark theme, alarms in the app. Second quarter: Heron with Bluetooth, code name Grebe.
Third quarter: Siskin 2. Fourth quarter: a snow depth sensor in a pilot with two ski areas, code name Ptarmigan.
Not planned: a camera. The idea was dropped because of privacy.
`,
  'products/accessories.csv': `part;name;fits;remark
60-118;Titanium housing;Heron;for salt water
60-260;Solar panel 10 W;Siskin, Plover;south of 55 degrees
60-261;Solar panel 20 W;Siskin;north of 55 degrees
60-342;Bird spikes;Wren;set of five
60-377;Lightning arrester;all;one per mast
60-415;Gel connector;all;not for reuse
`,
  'facilities/leeds-office.md': `# Leeds
Second and third floor of the Maltings, Dock Street. Bicycles go to the cellar, the code of the door is changed every quarter and stands on the board by the kitchen.
The alarm is set by whoever leaves last. Rubbish is collected on Tuesdays, glass every second Friday.
The defibrillator hangs beside the lift on the second floor.
`,
  'facilities/porto-office-move.md': `# Moving the Porto office
The lease in Matosinhos ends in January 2027. The new rooms on Rua do Almada are 410 square metres, with a terrace to the east.

Chiara Bellini leads the move. Furniture is reused except for the desks, which come from a maker in Paredes.
The lab is moved last, over a weekend, so that calibration stops for two days only.
`,
  'facilities/aarhus-workshop.md': `# Workshop Aarhus
The wave tank holds 6,200 litres and is emptied every Friday. The lathe may be used after an introduction by Henrik Bastrup.
Compressed air: 8 bar, switch behind the door. Solder fumes are drawn off at places 1 to 5 only.
`,
  'facilities/parking.md': `# Parking
Aarhus has 32 spaces, six of them with a charger. Leeds rents nine spaces from the brewery; numbers 14 to 16 are for electric cars and are booked through the reception. Porto has none, the garage at Trindade gives a discount with the stamp.
`,
  'facilities/fire-safety.md': `# Fire safety
Assembly points: Aarhus at the flag poles, Leeds at the bridge, Porto in front of the bakery.
Wardens: Ingrid Moe, Bram de Wit (Aarhus), Samir Haddad (Leeds), Felix Auer (Porto). Drills twice a year.
`,
  'facilities/kitchen-rota.md': `# Kitchen rota, Aarhus
Week A: hardware. Week B: firmware. Week C: sales. Week D: everybody else.
Run the dishwasher at 17:00, programme 4. Descale the coffee machine on the first Monday of the month.
`,
  'field/installation-guide.md': `# Installing a station
1. Check the ground for cables. The plans are with the council.
2. Dig a hole of 60 by 60 by 80 cm. Pour concrete C25 and wait three days.
3. Set the mast and align it with the level. Tighten the bolts to 45 Nm.
4. Connect the arrester before anything else.
5. Photograph all four directions and send the pictures with the protocol.
`,
  'field/lightning-protection.md': `# Lightning
Each mast is earthed with a rod of 2.5 m. The resistance must be below 10 ohm, measured in dry weather. After a strike replace the arrester and write down its counter.
`,
  'field/winter-checklist.md': `# Before winter
Fill the drain of the rain funnel with the heating cable. Check the battery under load: below 11.9 V it is replaced. Remove leaves, grease the lock, test the heating of the anemometer for ten minutes.
`,
  'field/radio-licences.md': `# Radio licences
Denmark and Germany: free on 868 MHz. Norway: registration with Nkom, valid for five years, our reference is NK-40-7715. Portugal: general permission by ANACOM.
`,
  'finance/budget-2026.md': `# Budget 2026
Hardware 1.9 million euros, software 1.4 million, sales 0.8 million, people 0.3 million, buildings 0.6 million.
The reserve is 260,000 euros and may be used with the consent of Greta Nyholm and Maren Holt.
`,
  'finance/grant-floodlight.md': `# Grant "Floodlight"
The European Union funds early warning on small rivers, number 101-88214. We receive 742,000 euros over three years, partners are the universities of Lund and Gdańsk. Reports are due each March; Ravi Menon writes them.
`,
  'finance/insurance.md': `# Insurance
Liability: Northmark, 5 million per case, excess 2,500. Vans: Northmark, full cover. Machines: Baltica, policy BM-559-03.
Stations of customers are not covered by us after handover.
`,
  'finance/fixed-assets.md': `# Fixed assets
Anything above 800 euros receives a number and a sticker. Laptops are written off over three years, vans over six, the wave tank over fifteen.
`,
  'reports/2026-02-flood-review.md': `# Review of the flood of February 2026
Between 3 and 9 February the rivers of Yorkshire rose faster than in any winter since we began to measure. Eleven of our stations stood in the affected valleys. This review collects what worked and what did not, so that the next winter finds us better prepared.

## What happened
Rain fell on frozen ground from the evening of the third. The gauge at Mill Bridge rose by 2.9 m within fourteen hours. At Otter Pool the stilling well was torn off by a tree, the gauge was found on the fourteenth, 3 km downstream, still measuring. At Reed Bank the enclosure was under water for two days; the logger survived, the gateway did not.

## Warnings
The first warning went out at 21:40 on the third, five hours before the banks overflowed. Of 212 recipients 198 received it within a minute. The other 14 had changed their number without telling us. Two districts had switched off night alarms in summer and had forgotten about it.

## Repairs
Three gauges had to be rinsed because silt had settled on the membrane. All enclosures below the hundred-year mark will be raised by 80 cm before October. The work is led by Owen Pritchard and costs about 27,400 euros, of which the insurance pays half.

## Lessons
- Ask every district in September whether its list of recipients is current.
- Chains, not cable ties, hold a stilling well.
- A second gateway on the hill would have bridged the outage at Reed Bank.
`,
  'reports/2025-reliability.md': `# Reliability of devices in 2025
At the end of the year 4,116 devices were in the field, 602 more than the year before. This report counts failures that needed a visit or a replacement; anything that healed by itself after a restart is left out.

## Heron
Of 1,730 gauges 41 failed. Eighteen had a blocked vent tube, nine a damaged cable, seven a drifting cell, the rest was vandalism. The share of 2.4 per cent is the lowest since the product was introduced.

## Wren
Of 1,092 stations 55 failed. Spiders in the rain funnel are the most frequent reason and led to 23 visits. The heating of the wind sensor failed eight times, always after a lightning strike nearby.

## Plover
Of 1,105 loggers 38 failed. Twenty of these were early cells from a delivery in March that had been stored too warm. The supplier replaced them without dispute.

## Siskin
Of 189 gateways 12 failed, which is too many. Seven lost their SIM card contact because the tray bends in frost. The tray will be made of steel from the second generation on.

## Outlook
We expect fewer failures in 2026, because the delivery of March is used up. The target is a share below 3 per cent over all products.
`,
  'people/onboarding.md': `# Your first month
Welcome! This page tells you what happens during your first four weeks. Your mentor has the same page and will go through it with you.

## Before the first day
Two weeks before you start, Oona Salmi sends a parcel with a laptop, a key card and a jar of the office honey. Open the laptop on the first day only, the setup needs the office network or the VPN.

## Week one
On Monday at ten you are met at the reception. After a tour you have lunch with your team; the company pays. In the afternoon you sign the papers on data protection. From Tuesday on you follow the plan of your mentor. On Friday you present yourself at the demo, two minutes are enough.

## Week two
Everyone, whether in sales or in software, builds a station with their own hands. The day in the workshop is led by Henrik Bastrup and ends with the station measuring on the roof. Wear old clothes.

## Week three
You spend a day with support and answer three tickets together with a colleague. You also meet Greta Nyholm, who explains how the company earns its money.

## Week four
A trip to a site, usually Hornsea or the fjord at Egå. Shoes of size 36 to 47 are in the cupboard beside the wave tank, the code is 4096.

## Afterwards
After six weeks your lead talks with you about how it goes. Bring wishes. After three months you may vote in the council.
`,
  'minutes/2026-02-10-management.md': `# Management, 10 February 2026
Present: Holt, Nyholm, Adeyemi, Lindqvist. Excused: Rahal.
- The office in Klaipeda is closed at the end of June, five people move to home office.
- Prices rise by 4 per cent on 1 May.
- The support line is staffed until 20:00 as a trial.
`,
  'minutes/2026-04-14-management.md': `# Management, 14 April 2026
Present: Holt, Nyholm, Adeyemi, Rahal.
- The trial of the late support line ends, 11 calls in eight weeks.
- Sales in Brazil go through the partner Aquamétrica from July on.
- Vans are replaced by electric ones as their leases end.
`,
  'minutes/2026-06-09-management.md': `# Management, 9 June 2026
Present: Holt, Nyholm, Lindqvist, Rahal.
- The works council proposed a four-day week. A pilot in the support team is approved for the autumn.
- The offer of Hydronova for our calibration lab, 1.2 million, is declined.
- Summer closing: 13 July to 31 July.
`,
  'minutes/2026-09-08-management.md': `# Management, 8 September 2026
Present: all.
- The pilot of the four-day week starts on 5 October with seven people.
- The new enclosure is made by Plastform in Vejle, tooling costs 86,000 euros.
- Dele Adeyemi becomes head of sales for all regions.
`,
};

/** Inspections look alike: site, date, inspector, voltage, signal, remark. */
const inspections = `
kilnsea|2026-04-22|Owen Pritchard|12.31|-88|Guy wire slack, tightened.
spurn|2026-04-22|Owen Pritchard|12.74|-91|Salt on the panel, washed.
hornsea|2026-04-22|Owen Pritchard|12.18|-79|Moisture in the enclosure, gasket replaced.
whitby|2026-04-23|Owen Pritchard|12.66|-84|Nothing to report.
staithes|2026-04-23|Owen Pritchard|12.59|-97|Nest on the mast, upper part not inspected.
kilnsea|2026-10-07|Gwyn Parry|12.05|-90|Bolt missing on the door, replaced.
spurn|2026-10-07|Gwyn Parry|12.47|-92|Nothing to report.
hornsea|2026-10-07|Gwyn Parry|12.39|-80|Dry. Lock greased.
whitby|2026-10-08|Gwyn Parry|12.52|-86|Sticker of the harbour authority renewed.
staithes|2026-10-08|Gwyn Parry|12.44|-95|Wind vane bent, straightened.
glen-orrin|2026-09-16|Fenella Marr|12.81|-102|Deer fence cut, reported to the estate.
glen-affric|2026-09-17|Fenella Marr|12.62|-99|Nothing to report.`;

for (const line of inspections.trim().split('\n')) {
  const [site = '', date = '', inspector, voltage, signal, remark] = line.split('|');
  docs[`field/inspections/${site}-${date.slice(0, 7)}.md`] = `# Inspection ${site}
Date: ${date}
Inspector: ${inspector}
Battery voltage: ${voltage} V
Signal strength: ${signal} dBm
Remark: ${remark}
`;
}
