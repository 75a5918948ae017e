const [base_url = "", key = ""] = process.argv.slice(2)

/**
 * Sends a call for the generated client. `Answer` is the type that the client derives from the OpenAPI document. The
 * response is not checked against this type.
 */
export const send = async <Answer>(path: string, { headers, ...options }: RequestInit): Promise<Answer> => {
  const all = new Headers(headers)
  all.set("authorization", `Bearer ${key}`)
  const response = await fetch(`${base_url}${path}`, { ...options, headers: all })
  return { data: await response.json(), status: response.status, headers: response.headers } as Answer
}
