// Problem codes are made from these phrases of the current RFCs, so they must not change with `node:http`.
export const reasonPhrases: Readonly<Record<number, string>> = Object.freeze({
  400: 'Bad Request',
  401: 'Unauthorized',
  402: 'Payment Required',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  407: 'Proxy Authentication Required',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  411: 'Length Required',
  412: 'Precondition Failed',
  413: 'Content Too Large',
  414: 'URI Too Long',
  415: 'Unsupported Media Type',
  416: 'Range Not Satisfiable',
  417: 'Expectation Failed',
  421: 'Misdirected Request',
  422: 'Unprocessable Content',
  423: 'Locked',
  424: 'Failed Dependency',
  425: 'Too Early',
  426: 'Upgrade Required',
  428: 'Precondition Required',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  451: 'Unavailable For Legal Reasons',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
  505: 'HTTP Version Not Supported',
  507: 'Insufficient Storage',
  511: 'Network Authentication Required',
})

/** Returns the problem code of a status without a known cause: its reason phrase in kebab case. */
export function statusCode(status: number): string {
  return statusTitle(status).toLowerCase().replaceAll(' ', '-')
}

export function statusTitle(status: number): string {
  const phrase = reasonPhrases[status] ?? `Status ${status}`
  // `URI` and `HTTP` stay; no second word begins in the first four letters.
  return phrase.slice(0, 4) + phrase.slice(4).toLowerCase()
}
