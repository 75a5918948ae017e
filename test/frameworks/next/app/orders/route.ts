/** A part of the program that is not ours. */
export const POST = async (request: Request) => Response.json(await request.json())
