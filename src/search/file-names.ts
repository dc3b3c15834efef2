/** A file's name says what a tool works on; that it is a file, and of what kind, says which tool. */
const kinds: ReadonlyMap<string, string> = new Map([
  ...kindOf('image file', 'png jpg jpeg gif webp bmp svg tiff'),
  ...kindOf('audio file', 'mp3 wav ogg flac'),
  ...kindOf('video file', 'mp4 mov avi mkv webm'),
  ...kindOf('pdf file', 'pdf'),
  ...kindOf(
    'file',
    'txt md log rst yaml yml toml ini conf env xml dat bak json csv xls xlsx doc docx ppt pptx odt ods',
  ),
  ...kindOf('file', 'html css js ts py java go rs c cpp h rb php sh sql ipynb zip tar gz tgz'),
]);

function kindOf(kind: string, types: string): [string, string][] {
  return types.split(' ').map((type) => [type, kind]);
}

const typePattern = /\.([A-Za-z0-9]{1,5})\.?$/;
// «Node.js» is no file, and the stock 600519.SH neither.
const otherPattern = /^(?:[A-Z]\w*\.js|[^A-Za-z]+\.[A-Z]+)$/;
const tokenPattern = /[^\s'"`“”()<>[\]{},;:?!]{3,300}/g;

/** «image file» for `photo.png`; undefined for what is no file's name. */
export function fileKind(name: string): string | undefined {
  if (otherPattern.test(name)) return undefined;
  return kinds.get(typePattern.exec(name)?.[1]?.toLowerCase() ?? '');
}

/** «rename notes.txt» → «rename file». */
export const nameFileKinds = (text: string): string =>
  text.replaceAll(tokenPattern, (token) => fileKind(token) ?? token);
