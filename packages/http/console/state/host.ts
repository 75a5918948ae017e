const meta = document.querySelector<HTMLMetaElement>('meta[name="quotewire-base-path"]')

/**
 * The path below which the host is mounted, such as `/insurance`, or an empty string. The host writes it into the page.
 */
export const basePath: string = meta?.content ?? ""

/** The host's address, without a trailing slash. */
export const hostUrl: string = `${location.origin}${basePath}`
