const meta = document.querySelector<HTMLMetaElement>('meta[name="quotewire-base-path"]')

/** The path below which the host is mounted, such as `/insurance`, or an empty text. The page contains it. */
export const basePath: string = meta?.content ?? ""

/** The address of the host, without a trailing slash. */
export const hostUrl: string = `${location.origin}${basePath}`
