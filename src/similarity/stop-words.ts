/** Words that carry no meaning of their own, in questions and in texts. */
export const stopWords: ReadonlySet<string> = new Set(
  (
    'a about an and any are as at be been being but by can could did do does doing done for from had has have having ' +
    'how i if in into is it its just me my no not of off on or our ours out over please s should so some than that the ' +
    'their them then there these they this those to up us was we were what whats when where which who whom whose why ' +
    'will with would you your am also all else ever get got let ll re ve d t m via per know want need looking look ' +
    'currently current right now anything something everything someone anyone exactly hey hi hello thanks thx atm btw ' +
    'asap ok okay'
  ).split(' '),
);
