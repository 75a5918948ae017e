/** A part of the program that is none of ours. */
export const POST = async (request: Request) => Response.json(await request.json())
