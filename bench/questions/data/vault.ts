/** The private notes of one employee, an Obsidian vault: path and text of every note. */
export const vault: Record<string, string> = {
  'Home/Boiler.md':
    'Model Vaillant ecoTEC 824. Pressure should be 1.5 bar, top up with the black tap. Serviced by Karlsen VVS every October.',
  'Home/Bathroom renovation.md':
    '- [x] tiles chosen: Mutina, colour salvia\n- [ ] plumber: offer by Karlsen 48,500 kr\n- [ ] ventilation\n\nSee [[Contractors]].',
  'Home/Contractors.md':
    'Electrician: Birgit Toft, 28 55 01 90. Painter: Mads, only in winter. Roof: never again Lindholm.',
  'Home/Paint colours.md':
    'Hall: Jotun 1024 Timeless. Kitchen: Flügger Bisquit. Bedroom: Jotun 7628 Treasure. Shed: Falu red.',
  'Home/Meter readings.md':
    '| date | water | heat |\n|---|---|---|\n| 2026-01-01 | 1211 | 40318 |\n| 2026-04-01 | 1238 | 42950 |\n| 2026-07-01 | 1269 | 43077 |\n| 2026-10-01 | 1301 | 43390 |',
  'Home/Insurance papers.md':
    'Household: Tryg, policy 71-2093-44. Contents insured to 900,000 kr. Bicycle included up to 12,000.',
  'Garden/Apple trees.md':
    'Ingrid Marie by the shed, Filippa at the fence. Prune in February. Filippa carries every second year.',
  'Garden/Greenhouse.md':
    'Tomatoes: Sungold and Black Krim. Vent opener broke, new one is from Juliana. Shade net up in June.',
  'Garden/Compost.md': 'Two parts brown, one part green. Turned on 4 April. Smells? Add cardboard.',
  'Garden/Seed list.md': 'Ordered from Frøsnapperen: kale Halvhøj, carrots Nantes, peas Ambassador, sweet peas Cupani.',
  'Books/The Salt Path of Rona.md':
    'Author: Deirdre Maclain. Lent to Ravi in March. Slow start, wonderful ending at the lighthouse.',
  'Books/Reading list.md': 'Next: The Glass Meridian (Okonjo), A History of Fog (Brandt), Small Engines (Lispet).',
  'Books/A History of Fog.md': 'Author: Wilhelm Brandt. Bought in Husum. Chapter 6 about foghorns is the best.',
  'Recipes/Sourdough rye.md':
    '600 g rye flour, 480 g water, 12 g salt, 150 g starter. 16 hours at room temperature, 60 minutes at 190 degrees.',
  'Recipes/Fish soup.md': 'Fennel, leek, saffron, 500 g cod, a glass of pastis at the end. Serve with aioli.',
  'Recipes/Cardamom buns.md': 'Dough: 75 g butter, 25 g yeast, 3 dl milk, 9 g cardamom. Bake 8 minutes at 225.',
  'Recipes/Plum jam.md': '2 kg plums, 700 g sugar, one star anise. Keeps until spring.',
  'Recipes/Pickled beetroot.md': 'Vinegar 5 dl, sugar 300 g, cloves 6, horseradish. Ready after two weeks.',
  'Travel/Faroe Islands 2025.md':
    'Ferry Norröna from Hirtshals. Slept at Gjógv. Guide on Mykines: Jákup Heinesen. Bring better gloves.',
  'Travel/Porto in June.md':
    'Dinner for São João. Try francesinha at Bufete Fase. Visit the Livraria early, tickets online.',
  'Travel/Sleeper to Vienna.md':
    'Nightjet from Hamburg 20:20, arrives 08:50. Book coach 303, quiet end. Breakfast is poor, bring fruit.',
  'Travel/Packing list.md':
    'Passport, ear plugs, travel kettle, spare glasses, charger, swimming trunks, tin of mints.',
  'Travel/Cycling the Ox Road.md':
    'Day 1 Viborg to Nørre Snede 61 km. Day 2 to Vejen 70 km. Day 3 to Padborg 82 km. Shelter at Jelling is free.',
  'Work/Greenhouse gas footprint.md':
    'Company footprint 2025: 1,840 t. Half of it is air freight. Target for 2030 is 1,100 t.',
  'Work/Talk at Hydro Expo.md':
    'Title: What the river told us last night. Slot 11:20, hall 4. Slides at most 18. Speak slower.',
  'Work/Conversation with Maren.md':
    'She wants me to lead the sensor guild from January. Asked for one day a week for it. Answer until 30 November.',
  'Work/Ideas for the offsite.md':
    'Canoe tour on the Gudenå, or a cooking class at Madværk. Budget per head 900 kr. Not bowling again.',
  'Work/Wave tank experiments.md':
    'Run 14: sensor tilted by 5 degrees, error 2 mm. Run 15: 10 degrees, error 9 mm. Run 16: with bubbles, useless.',
  'Work/Mentoring Liselotte.md':
    'Week 1: toolchain. Week 2: fix the drift test. She likes diagrams. Reads Danish but prefers English.',
  'Health/Running.md':
    'Half marathon in Aarhus: 1:52:40. Knee fine with the Saucony shoes. Next race in Skanderborg on 30 May.',
  'Health/Glasses.md': 'Right -2.25, left -1.75, cylinder 0.5. Optician Synoptik, prescription of August 2025.',
  'Health/Vaccinations.md': 'Tetanus 2019. TBE third dose due in 2027. Flu each October at the office.',
  'People/Aunt Karen.md': 'Birthday 9 August. Loves quince. New knee in 2024. Cat is called Bismarck.',
  'People/Neighbours.md': 'No. 12: Torben and Anh, keys for emergencies. No. 16: family Sørensen, twins Alma and Otto.',
  'Music/Choir.md': 'Rehearsal Tuesdays 19:00. Spring concert: Rautavaara and Pärt. I still have the score of Siri.',
  'Music/Piano tuning.md':
    'Tuner: Esben Lykke, comes in March and September, 950 kr. The A above middle C was at 437 Hz.',
};
