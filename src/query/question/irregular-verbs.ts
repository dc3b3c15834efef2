/** Forms of English verbs that no ending shows: the past and the participle under the verb. */
const forms =
  'be was were been|bear bore born borne|beat beaten|become became|begin began begun|bend bent|bet|bind bound|bite bit bitten|' +
  'bleed bled|blow blew blown|break broke broken|breed bred|bring brought|build built|burn burnt|buy bought|catch caught|' +
  'choose chose chosen|cling clung|come came|creep crept|deal dealt|dig dug|draw drew drawn|drink drank drunk|drive drove driven|' +
  'eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought|find found|flee fled|fly flew flown|forbid forbade forbidden|' +
  'forget forgot forgotten|forgive forgave forgiven|freeze froze frozen|get got gotten|give gave given|go went gone|grind ground|' +
  'grow grew grown|hang hung|hear heard|hide hid hidden|hold held|keep kept|kneel knelt|know knew known|lay laid|lead led|lean leant|' +
  'leave left|lend lent|lie lay lain|light lit|lose lost|make made|mean meant|meet met|pay paid|ride rode ridden|ring rang rung|' +
  'rise rose risen|run ran|say said|see saw seen|seek sought|sell sold|send sent|shake shook shaken|shine shone|shoot shot|' +
  'show shown|shrink shrank shrunk|sing sang sung|sink sank sunk|sit sat|sleep slept|slide slid|speak spoke spoken|spend spent|' +
  'spin spun|spread|spring sprang sprung|stand stood|steal stole stolen|stick stuck|sting stung|strike struck|swear swore sworn|' +
  'sweep swept|swim swam swum|swing swung|take took taken|teach taught|tear tore torn|tell told|think thought|throw threw thrown|' +
  'understand understood|wake woke woken|wear wore worn|weep wept|win won|wind wound|withdraw withdrew withdrawn|write wrote written';

const verbs: ReadonlyMap<string, string> = new Map(
  forms.split('|').flatMap((line) => {
    const [verb = '', ...others] = line.split(' ');
    return others.map((form): [string, string] => [form, verb]);
  }),
);

export const toInfinitive = (word: string): string => verbs.get(word) ?? word;
export const isIrregularForm = (word: string): boolean => verbs.has(word);
