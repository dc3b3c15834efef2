/** The memory graph: entities with observations, and relations between them, in the server's own JSON Lines. */
const entities = `
Idris Vaughan|person|Prefers to be paged rather than called|Allergic to hazelnuts
Maren Holt|person|Sails a folkboat named Tulla|Dislikes meetings before nine
Yuki Arai|person|Knows the modem by heart|Speaks Japanese, Danish and English
Paula Lindqvist|person|Plays in a badminton league
Tomás Figueira|person|Restores old radios
Oona Salmi|person|Comes from Tampere
Dele Adeyemi|person|Supports Leeds United
Ravi Menon|person|Runs the reading club
Samir Haddad|person|Bakes for every release
Chiara Bellini|person|Studied in Ferrara
Owen Pritchard|person|Holds the boat licence class 2
Felix Auer|person|Counts tips of rain buckets by hand
Leopold Kranz|person|Plays the double bass
Bram de Wit|person|Keeps bees behind the warehouse
Heron|product|Cell is bought from Keramiko|Codename was Lanky until 2019
Wren|product|Ultrasound heads come from Sonaris
Plover|product|Battery lasts 5 years with default settings|Case is made in Vejle
Siskin|product|Radio module is the LX-48
Grebe|product|Heron with Bluetooth|Prototype count is 25
Ptarmigan|product|Snow depth sensor|Pilot in Hemsedal and Trysil
Project Lapwing|project|Moves all services to the Falkenberg data centre|Steering group meets on the second Wednesday
Project Sandpiper|project|Replaces the billing engine|Vendor is Quillon
Project Turnstone|project|Rewrites the mobile app|Paused until the new designer starts
Brevia|supplier|Sends our text messages|Contract ends on 28 February 2027
Telmondo|supplier|Backup for text messages
Keramiko|supplier|Ceramic cells|Minimum order is 250 pieces
Sonaris|supplier|Ultrasound heads|Factory in Tartu
Kartonia|supplier|Boxes and inlays
Plastform|supplier|Injection moulding in Vejle
Falkenberg data centre|place|Cage 17, racks B to D|Access with the green token only
Aarhus|office|Head office|58 people
Leeds|office|31 people
Porto|office|14 people`;
const relations = `
Idris Vaughan|leads|Project Lapwing
Greta Nyholm|sponsors|Project Sandpiper
Ravi Menon|leads|Project Sandpiper
Chiara Bellini|leads|Project Turnstone
Maren Holt|mentors|Ravi Menon
Tomás Figueira|designed|Heron
Yuki Arai|maintains|Plover
Felix Auer|tests|Wren
Samir Haddad|is deputy of|Idris Vaughan
Keramiko|supplies|Heron
Sonaris|supplies|Wren
Plastform|supplies|Plover
Project Lapwing|uses|Falkenberg data centre`;

const rows = (lines: string) =>
  lines
    .trim()
    .split('\n')
    .map((line) => line.split('|'));

export const graph: string = [
  ...rows(entities).map(([name, entityType, ...observations]) => ({ type: 'entity', name, entityType, observations })),
  ...rows(relations).map(([from, relationType, to]) => ({ type: 'relation', from, to, relationType })),
]
  .map((entry) => JSON.stringify(entry))
  .join('\n');
