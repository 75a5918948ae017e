import fastify from "fastify"
import * as Peer from "./Peer.ts"
import * as schemas from "./schemas.ts"

/** Fastify 5, set up as its documentation recommends for speed: schemas for bodies and responses, no logger. */
Peer.run(async (shared) => {
  const quotes = new Map([[shared.quote.id, shared.quote]])
  const requests = new Map<string, unknown>()
  const server = fastify({ logger: false, genReqId: () => Peer.newId("req") })
  server.setValidatorCompiler(({ schema }) => schemas.compile(schema))
  server.addHook("onRequest", (request, reply, done) => {
    reply.headers({ "request-id": request.id, ...Peer.headers })
    if (request.headers.authorization === Peer.authorization) done()
    else reply.code(401).send({ code: "authentication_failed" })
  })
  server.get<{ Params: { id: string } }>(
    "/v1/quotes/:id",
    { schema: { response: { 200: schemas.of(shared.quote) } } },
    (request, reply) => {
      const quote = quotes.get(request.params.id)
      return quote === undefined ? reply.code(404).send({ code: "not_found" }) : reply.send(quote)
    }
  )
  server.post(
    "/v1/quote-requests",
    { schema: { body: shared.start_schema, response: { 202: schemas.of(shared.started) } } },
    (request, reply) => {
      const id = Peer.newId("qreq")
      requests.set(id, request.body)
      reply.code(202).send({ ...shared.started, id })
    }
  )
  const url = await server.listen({ port: 0, host: "127.0.0.1" })
  return { port: Number(new URL(url).port), key: Peer.key, quote_id: shared.quote.id }
})
