/** What files are, by the ending of their names: those that the web is made of. */

/** Text in some sense: worth compressing. `text/*` is UTF-8, as nearly all of it is. */
const textual: Readonly<Record<string, string>> = {
  'text/html': 'html htm shtml',
  'text/css': 'css',
  'text/javascript': 'js mjs cjs',
  'text/plain': 'txt text log conf ini md5 sha256',
  'text/markdown': 'md markdown',
  'text/csv': 'csv',
  'text/xml': 'xsl xslt',
  'text/calendar': 'ics',
  'text/vcard': 'vcf',
  'text/vtt': 'vtt',
  'application/json': 'json map',
  'application/ld+json': 'jsonld',
  'application/geo+json': 'geojson',
  'application/manifest+json': 'webmanifest',
  'application/xml': 'xml',
  'application/rss+xml': 'rss',
  'application/atom+xml': 'atom',
  'application/xhtml+xml': 'xhtml',
  'application/yaml': 'yaml yml',
  'application/wasm': 'wasm',
  'application/rtf': 'rtf',
  'image/svg+xml': 'svg',
  'image/x-icon': 'ico cur',
  'image/bmp': 'bmp',
  'font/ttf': 'ttf',
  'font/otf': 'otf',
  'application/vnd.ms-fontobject': 'eot',
};

const compact: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/apng': 'apng',
  'image/jpeg': 'jpg jpeg jfif',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'image/avif': 'avif',
  'image/heic': 'heic',
  'image/tiff': 'tif tiff',
  'image/jxl': 'jxl',
  'font/woff': 'woff',
  'font/woff2': 'woff2',
  'audio/mpeg': 'mp3',
  'audio/mp4': 'm4a',
  'audio/aac': 'aac',
  'audio/ogg': 'ogg oga opus',
  'audio/wav': 'wav',
  'audio/flac': 'flac',
  'audio/webm': 'weba',
  'audio/midi': 'mid midi',
  'video/mp4': 'mp4 m4v',
  'video/webm': 'webm',
  'video/ogg': 'ogv',
  'video/quicktime': 'mov',
  'video/x-msvideo': 'avi',
  'video/mpeg': 'mpg mpeg',
  'video/mp2t': 'ts',
  'application/vnd.apple.mpegurl': 'm3u8',
  'application/dash+xml': 'mpd',
  'application/pdf': 'pdf',
  'application/zip': 'zip',
  'application/gzip': 'gz tgz',
  'application/x-bzip2': 'bz2',
  'application/x-xz': 'xz',
  'application/zstd': 'zst',
  'application/x-7z-compressed': '7z',
  'application/vnd.rar': 'rar',
  'application/x-tar': 'tar',
  'application/java-archive': 'jar',
  'application/epub+zip': 'epub',
  'application/msword': 'doc',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.ms-powerpoint': 'ppt',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
  'application/vnd.oasis.opendocument.text': 'odt',
  'application/vnd.oasis.opendocument.spreadsheet': 'ods',
  'model/gltf-binary': 'glb',
};

export interface MediaType {
  type: string;
  isTextual: boolean;
}

const unknown: MediaType = { type: 'application/octet-stream', isTextual: false };

const byEnding = new Map<string, MediaType>(
  [textual, compact].flatMap((table) =>
    Object.entries(table).flatMap(([type, endings]) =>
      endings
        .split(' ')
        .map((ending): [string, MediaType] => [
          ending,
          { type: type.startsWith('text/') ? `${type}; charset=utf-8` : type, isTextual: table === textual },
        ]),
    ),
  ),
);

export function mediaTypeOf(path: string): MediaType {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const dot = name.lastIndexOf('.');
  return (dot > 0 ? byEnding.get(name.slice(dot + 1).toLowerCase()) : undefined) ?? unknown;
}
