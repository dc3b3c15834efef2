/** A chat workspace without a search: channels, then messages page by page, then threads. Annotated, JSON. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';
import { changing, createSampler, failure, json, pageOf, readOnly, start, writes } from './stand-in.ts';

/** The messages of each channel, oldest first; replies of a thread start with ">". */
const conversations: Record<string, string> = {
  general: `
maren: Welcome to Liselotte, who starts in the firmware team today.
oona: The photographer comes on the 18th, please wear something without stripes.
ingrid: The lift in Aarhus is out of order until Friday.
greta: Invoices for this month must be with me on the 27th at noon.
keziah: We won the Green Sensor award for the Wren!
>dele: Wonderful, who collects it?
>keziah: Chiara does, on 4 December in Vienna.
maren: All hands is on Thursday at 14:00.
ingrid: Leeds: the guest Wi-Fi has a new password from today on, otter-lagoon-71.
ingrid: Lost and found: a grey scarf and a set of keys with a cork tag.`,
  'launch-siskin': `
keziah: This channel is for the launch of Siskin 2.
tomas: Samples of the new housing arrived, the hinge is much better.
keziah: Launch date for Siskin 2 is fixed: 14 September.
dele: Distributors ask for the price list.
>keziah: Recommended price is 389 euros, 339 from ten pieces.
>dele: Thanks, passing that on.
chiara: The box is printed by Kartonia, first proof next week.
felix: Drop test passed from 1.5 m, the lid stayed shut.
yuki: The bootloader is signed with the new key from today on.
dele: Which colours do we offer?
>chiara: Slate and moss. The sand tone did not survive the UV test.`,
  firmware: `
yuki: Please no merges to main while the release is cut.
felix: Bench 3 shows a drift of 4 mm, looking into it.
>felix: It was the pump, not the gauge. Replaced the seal.
liselotte: Where is the toolchain image?
>yuki: registry.tarnwell.example/toolchain:14.2, ask Samir for access.
yuki: Reminder: stack traces need the flag -fno-omit-frame-pointer.
felix: Who reviews the change to the watchdog?
>liselotte: I do, tomorrow morning.
yuki: The modem vendor confirmed the bug with band 20, patch comes in week 34.`,
  'support-eu': `
paula: Tidewater Board cannot see two of their stations.
>ravi: Their licence covers 40 stations and they have 42.
>paula: Thanks, I offer them the next tier.
paula: Does anybody know the reset combination of the old Plover?
>owen: Hold both buttons for 11 seconds until the lamp turns violet.
paula: A customer asks for the drawing of the wall bracket.
>tomas: It is drawing T-0447, in the product folder.
paula: Hornsea reports humidity in the enclosure again.
>owen: The gasket is pinched, replace it with the wider one, part 60-207.`,
  'porto-office': `
chiara: The coffee machine is repaired.
felix: The landlord wants to replace the windows in August.
chiara: Who has the key to the roof?
>felix: Senhor Abílio at the kiosk next door keeps it.
chiara: The new office is on Rua do Almada, third floor.
felix: Movers are booked: Mudanças Ribeiro, on 30 January.
chiara: Fibre will be connected by Vodafone a week before.`,
  'field-trips': `
owen: Van 1 is at the garage until Wednesday.
owen: Ferry to Spurn is cancelled, I go on Friday instead.
ravi: Can somebody take a spare logger to Whitby?
>owen: I have one in van 2, will leave it with the harbour master.
owen: Found a nest of kestrels on the mast at Staithes, we wait until July.
owen: The gate code at Glen Orrin changed.
>ravi: To what?
>owen: 5937, then the hash key.
owen: Tide tables for Hornsea are pinned.`,
  'incident-room': `
idris: Ingest is down since 03:12 UTC, I am on it.
>idris: Disk of broker 2 is full, retention was set to 400 GB on a 380 GB volume.
>samir: Shrinking retention to 300 GB.
>idris: Back since 03:58. Review on Thursday.
idris: Short outage of the portal, certificate of the load balancer had expired.
>idris: Renewed, and there is now an alert 21 days ahead.
samir: Alarms were delayed by 14 minutes this morning.
>samir: The queue was blocked by a single message with a broken number.`,
  'reading-club': `
ravi: Next book: The Drowned Bell by Ines Arrowood.
oona: I could not finish the last one, too many admirals.
ravi: We meet on the first Tuesday, this time in the canteen.
>oona: Can I bring cake?
>ravi: Please do. Poppy seed again!`,
  hiring: `
oona: Two interviews for firmware this week.
yuki: Liselotte was very good on interrupts.
>oona: Offer sent, she starts on 1 June.
oona: The ad for a hydrologist is online.
>ravi: Please also post it at the University of Lund.`,
  plants: `
ingrid: The fig in the entrance has scale insects.
>bram: Soap and spirit, twice a week.
bram: Who waters during the summer closing?
>leopold: I do Mondays, Ingrid does Thursdays.`,
  music: `
leopold: Band practice moves to the old paint shop.
samir: We need a drummer for the Christmas dinner.
>lotte: I can do it if somebody lends me cymbals.`,
};
/** Messages that any channel may hold. */
const smallTalk = [
  'Good morning everyone.',
  'I am in the lab until lunch.',
  'Working from home tomorrow.',
  'Thanks a lot!',
  'The build is green again.',
  'Does anybody have a charger with a round plug?',
  'There is cake in the kitchen.',
  'The link in the minutes is broken, fixed now.',
] as const;

const sampler = createSampler(53);
const channels = Object.entries(conversations).map(([name, written], at) => {
  const threads = written.trim().split('\n>').join('>').split('\n');
  const messages = threads.flatMap((thread) => {
    const [first = { user: '', text: '' }, ...replies] = thread.split('>').map(toPost);
    return [{ ...first, replies }, ...Array.from({ length: sampler.between(1, 4) }, chatter)];
  });
  const dated = messages.map((message, index) => ({
    ts: `${1_772_000_000 + at * 9000 + index * 640}.0001`,
    ...message,
  }));
  return { id: `C0${(at + 11) * 37}`, name, messages: dated.toReversed() };
});

function toPost(line: string) {
  const [user = '', text = ''] = line.split(/: (.*)/s);
  return { user, text };
}

function chatter() {
  return {
    user: sampler.pick(['bram', 'lotte', 'felix', 'ravi', 'ingrid']),
    text: sampler.pick(smallTalk),
    replies: [],
  };
}

const pageSize = 10;
const server = new McpServer({ name: 'parley', version: '5.1.0' });
const channel_id = z.string().describe('Id of the channel, for example C0407');

server.registerTool(
  'channels_list',
  { description: 'List all channels of the workspace.', annotations: readOnly },
  () =>
    json({ channels: channels.map(({ id, name, messages }) => ({ id, name: `#${name}`, messages: messages.length })) }),
);
server.registerTool(
  'channel_history',
  {
    description: 'Messages of a channel, newest first. Replies are read with thread_replies.',
    inputSchema: { channel_id, cursor: z.string().optional() },
    annotations: readOnly,
  },
  ({ channel_id: wanted, cursor }) => {
    const channel = channels.find(({ id }) => id === wanted);
    if (channel === undefined) return failure('channel_not_found');
    const page = cursor === undefined ? 1 : Number(Buffer.from(cursor, 'base64').toString());
    const { items, hasMore } = pageOf(channel.messages, page, pageSize);
    return json({
      messages: items.map(({ replies, ...message }) => ({
        ...message,
        ...(replies.length > 0 ? { thread_ts: message.ts, reply_count: replies.length } : {}),
      })),
      ...(hasMore ? { next_cursor: Buffer.from(String(page + 1)).toString('base64') } : {}),
    });
  },
);
server.registerTool(
  'thread_replies',
  {
    description: 'The replies of a thread.',
    inputSchema: { channel_id, thread_ts: z.string().describe('Timestamp of the first message') },
    annotations: readOnly,
  },
  ({ channel_id: wanted, thread_ts }) => {
    const message = channels.find(({ id }) => id === wanted)?.messages.find(({ ts }) => ts === thread_ts);
    return message === undefined ? failure('thread_not_found') : json(message);
  },
);
server.registerTool('workspace_info', { description: 'Plan and limits of the workspace.', annotations: readOnly }, () =>
  json({
    name: 'Tarnwell',
    plan: 'Business+',
    members: 58,
    guests: 7,
    storage_used: '812 GB of 1.5 TB',
    renews: '17 February 2027',
  }),
);

const text = z.string();
writes(server, 'post_message', 'Post a message to a channel.', { channel_id, text }, changing);
writes(server, 'reply_to_thread', 'Reply in a thread.', { channel_id, thread_ts: z.string(), text }, changing);
writes(server, 'add_reaction', 'React with an emoji.', { channel_id, ts: z.string(), emoji: z.string() }, changing);
writes(server, 'invite_user', 'Invite a person to a channel.', { channel_id, user: z.string() }, changing);

await start(server);
