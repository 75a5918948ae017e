import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as fc from "fast-check"
import type { CarrierHttp } from "../../src/carriers/http/CarrierHttp.ts"
import type { CarrierHttpError } from "../../src/carriers/http/CarrierHttpError.ts"
import type { XmlDocument } from "../../src/carriers/http/XmlBody.ts"
import * as Redaction from "../../src/carriers/secrets/Redaction.ts"
import * as Money from "../../src/wire/Money.ts"
import { firstOf, withClient } from "./fakeCarrier.ts"

/*
 * XML as a format of requests and answers.
 */

const answered = (text: string | Uint8Array<ArrayBuffer>, contentType = "application/xml") =>
  new Response(text, { headers: { "content-type": contentType } })

/** What a schema reads in an answer. */
const read = <A>(text: string | Uint8Array<ArrayBuffer>, schema: Schema.Decoder<A>, contentType?: string) =>
  withClient(
    () => answered(text, contentType),
    (http) => Effect.flatMap(http.effect.get("/quote"), (answer) => answer.xml(schema))
  )

const refusal = (
  text: string,
  schema: Schema.Decoder<unknown> = Schema.Unknown
): Effect.Effect<CarrierHttpError, unknown> => Effect.flip(read(text, schema))

const Rated = Schema.Struct({
  Envelope: Schema.Struct({
    Body: Schema.Struct({
      Quote: Schema.Struct({
        "@ref": Schema.String,
        Premium: Schema.Struct({ "@currency": Schema.Literal("USD"), "#text": Money.FromText }),
        Deductible: Schema.FiniteFromString,
        Driver: Schema.Array(Schema.Struct({ Name: Schema.String })),
        Note: Schema.optionalKey(Schema.NullOr(Schema.String)),
        Discount: Schema.optionalKey(Schema.Array(Schema.String))
      })
    })
  })
})

const soap = (quote: string) => `<?xml version="1.0" encoding="UTF-8"?>
  <soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/" xmlns:q="urn:quotes">
    <!-- comments are not read --><soap:Header/>
    <soap:Body><q:Quote q:ref="Q-7" unknown="1"><q:Premium currency="USD"> 1,171.10 </q:Premium>${quote}</q:Quote></soap:Body>
  </soap:Envelope>`

const deductible = "<Deductible>0500</Deductible>"
const quoteOf = (rated: typeof Rated.Type) => rated.Envelope.Body.Quote

describe("an answer in XML", () => {
  it.effect("is read with its schema despite envelopes, prefixes, attributes, CDATA and character references", () =>
    Effect.gen(function* () {
      const driver = "<Driver><Name><![CDATA[Ada & <Co>]]> &#233;&amp;</Name></Driver>"
      const found = yield* read(soap(`${deductible}${driver}<q:Note>0012</q:Note><Unknown/>`), Rated)
      assert.deepStrictEqual(quoteOf(found), {
        "@ref": "Q-7",
        Premium: { "@currency": "USD", "#text": { amount_minor: 117_110, currency: "USD" } },
        Deductible: 500,
        Driver: [{ Name: "Ada & <Co> é&" }],
        Note: "0012"
      })
    })
  )

  it.effect("yields lists of any length where the schema has lists, and null for nil elements", () =>
    Effect.gen(function* () {
      for (const names of [[], ["Ada"], ["Ada", "Bob", "Cyd"]]) {
        const drivers = names.map((name) => `<Driver><Name>${name}</Name></Driver>`).join("\n")
        const discounts = names.map((name) => `<Discount code="1">${name}</Discount>`).join("")
        const note = '<Note xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:nil="true"/>'
        const { Discount, Driver, Note } = quoteOf(yield* read(soap(drivers + deductible + discounts + note), Rated))
        assert.deepStrictEqual(
          Driver.map(({ Name }) => Name),
          names
        )
        assert.deepStrictEqual(Discount ?? [], names)
        assert.isNull(Note)
      }
    })
  )

  it.effect("can be read with a union schema, even with lists and recursive types", () =>
    Effect.gen(function* () {
      interface Part {
        readonly Code: string
        readonly Part: ReadonlyArray<Part>
      }
      const Part: Schema.Codec<Part> = Schema.Struct({
        Code: Schema.String,
        Part: Schema.Array(Schema.suspend((): Schema.Codec<Part> => Part))
      })
      const Answer = Schema.Union([
        Schema.Struct({ Declined: Schema.Struct({ Reason: Schema.Array(Schema.String) }) }),
        Schema.Struct({ Rated: Part })
      ])
      assert.deepStrictEqual(yield* read("<Declined><Reason>losses</Reason></Declined>", Answer), {
        Declined: { Reason: ["losses"] }
      })
      assert.deepStrictEqual(yield* read("<Rated><Code>a</Code><Part><Code>b</Code></Part></Rated>", Answer), {
        Rated: { Code: "a", Part: [{ Code: "b", Part: [] }] }
      })
    })
  )

  it.effect("can be read without a schema, as text and fields", () =>
    Effect.gen(function* () {
      const { xml } = yield* withClient(
        () => answered('<a x="1">t<b>1</b><b/><c y="2">3</c></a>'),
        (http) => http.effect.get("/quote")
      ).pipe(Effect.map((answer) => ({ xml: answer.xml() })))
      assert.deepStrictEqual(yield* xml, {
        a: { "@x": "1", "#text": "t", b: ["1", ""], c: { "@y": "2", "#text": "3" } }
      })
    })
  )

  it.effect("is decoded with the character set in its content type or its declaration", () =>
    Effect.gen(function* () {
      const Name = Schema.Struct({ Name: Schema.String })
      const declared = Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><Name>José</Name>', "latin1")
      const undeclared = Buffer.from("<Name>José</Name>", "latin1")
      const marked = Buffer.from('\uFEFF<?xml version="1.0" encoding="UTF-16"?><Name>José</Name>', "utf16le")
      for (const [bytes, content_type] of [
        [declared, "text/xml"],
        [undeclared, "text/xml; charset=ISO-8859-1"],
        [marked, "text/xml"]
      ] as const) {
        assert.deepStrictEqual(yield* read(new Uint8Array(bytes), Name, content_type), { Name: "José" })
      }
    })
  )

  it.effect("causes an error with paths but no values if it does not match the schema", () =>
    Effect.gen(function* () {
      const { broken_rules, message, reason } = yield* refusal(soap("<Deductible>secret</Deductible>"), Rated)
      assert.strictEqual(reason, "unreadable_answer")
      assert.deepStrictEqual(
        broken_rules?.map(({ path }) => path),
        ["Envelope.Body.Quote.Deductible"]
      )
      assert.notInclude(message, "secret")
    })
  )

  const bomb = `<!DOCTYPE b [<!ENTITY a "${"x".repeat(1_000)}"><!ENTITY b "${"&a;".repeat(1_000)}">]><b>&b;</b>`
  const hostile: ReadonlyArray<readonly [string, string]> = [
    ["an external entity", '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'],
    ["an external DTD", '<!DOCTYPE a SYSTEM "https://evil.example/a.dtd"><a/>'],
    ["exponentially growing entities", bomb],
    ["a DOCTYPE that declares nothing", "<!DOCTYPE html><html/>"],
    ["a custom entity", "<a>&nbsp;</a>"],
    ["elements nested too deeply", `${"<a>".repeat(100_000)}${"</a>".repeat(100_000)}`],
    ["too many elements", `<a>${"<b/>".repeat(200_000)}</a>`],
    ["an element without an end tag", "<a><b></b>"],
    ["two root elements", "<a/><b/>"],
    ["no root element", " "],
    ["a duplicate attribute", '<a b="1" b="2"/>'],
    ["JSON", '{"a":1}']
  ]
  it.effect.each(hostile)("is refused if it contains %s", ([, text]) =>
    Effect.gen(function* () {
      const { code, message, reason } = yield* refusal(text)
      assert.deepStrictEqual([code, reason], ["NOT_XML", "unreadable_answer"])
      assert.match(message, /^GET \/quote at api\.acme\.example: the answer is not XML\. It /)
      assert.isBelow(message.length, 200)
    })
  )

  it.effect("cannot pollute object prototypes", () =>
    Effect.gen(function* () {
      const text = '<a><__proto__ polluted="1"><b>1</b></__proto__><constructor>2</constructor></a>'
      for (const schema of [Schema.Unknown, Schema.Struct({ a: Schema.Record(Schema.String, Schema.Unknown) })]) {
        const found = yield* read(text, schema)
        assert.notProperty({}, "polluted")
        assert.include(JSON.stringify(found), '"__proto__"')
      }
    })
  )
})

const sentBy = (xml: XmlDocument, more: { readonly content_type?: string } = {}) =>
  withClient(
    () => answered("<ok/>"),
    (http, requests) => Effect.map(http.effect.post("/quotes", { xml, ...more }), () => firstOf(requests))
  )

describe("a request in XML", () => {
  it.effect(
    "contains fields as elements or attributes and lists as repeated elements, and omits undefined fields",
    () =>
      Effect.gen(function* () {
        const { body, headers } = yield* sentBy({
          "q:Quote": {
            "@xmlns:q": "urn:quotes",
            "@test": true,
            "@none": undefined,
            Zip: "00501",
            Claims: 0,
            Middle: undefined,
            Driver: [{ Name: 'Ada & "Bob" <x>' }, { Name: "é" }],
            Limit: { "@unit": "USD", "#text": 20_000 },
            None: []
          }
        })
        assert.strictEqual(
          body,
          '<?xml version="1.0" encoding="UTF-8"?><q:Quote xmlns:q="urn:quotes" test="true"><Zip>00501</Zip><Claims>0</Claims>' +
            '<Driver><Name>Ada &amp; "Bob" &lt;x&gt;</Name></Driver><Driver><Name>é</Name></Driver>' +
            '<Limit unit="USD">20000</Limit></q:Quote>'
        )
        assert.strictEqual(headers.get("content-type"), "application/xml")
        assert.strictEqual(headers.get("accept"), "application/xml, text/xml")
        const { headers: others } = yield* sentBy({ a: "" }, { content_type: "application/soap+xml; charset=utf-8" })
        assert.strictEqual(others.get("content-type"), "application/soap+xml; charset=utf-8")
      })
  )

  const wrong: ReadonlyArray<readonly [string, XmlDocument, RegExp]> = [
    ["no root element", {}, /It must have exactly one root element\./],
    ["two root elements", { a: "", b: "" }, /It must have exactly one root element\./],
    ["an invalid name", { "a b": "hidden" }, /invalid element name/],
    ["a character that XML forbids", { a: { b: "hidden\u0000" } }, /invalid character U\+0000/],
    ["an invalid number", { a: { b: Number.NaN } }, /b must be text, a finite number/]
  ]
  it.effect.each(wrong)("is reported as an adapter's mistake if it has %s", ([, xml, message]) =>
    Effect.gen(function* () {
      const defect = yield* Effect.flip(Effect.sandbox(sentBy(xml)))
      assert.match(String(defect), message)
      assert.notInclude(String(defect), "hidden")
    })
  )

  const text = fc
    .string({ unit: fc.constantFrom(..."ab <>&\"']é漢😀\n\t"), maxLength: 12 })
    .map((value) => value.trim())
  const fields = fc.dictionary(
    fc.constantFrom("A", "b-c", "D.e", "_f"),
    fc.array(text, { minLength: 1, maxLength: 3 }),
    {
      noNullPrototype: true
    }
  )
  it.effect("is read back as it was sent", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(fields, text, async (fields, attribute) => {
          const Echo = Schema.Struct({
            R: Schema.Struct({ "@a": Schema.String, L: Schema.Record(Schema.String, Schema.Array(Schema.String)) })
          })
          const sent = { R: { "@a": attribute, L: fields } }
          const echo = withClient(
            ({ body }) => answered(body),
            (http: CarrierHttp) => Effect.flatMap(http.effect.post("/", { xml: sent }), (answer) => answer.xml(Echo))
          )
          // An element without fields is read as an empty record.
          assert.deepStrictEqual(await Effect.runPromise(echo), sent)
        })
      )
    )
  )
})

const kept = (text: string, paths: ReadonlyArray<string> = []) =>
  Redaction.bodyOf(text, "text/xml", Redaction.redactionAfter({ redact: paths }, undefined, []))

describe("an XML body's record", () => {
  const body =
    '<s:Envelope xmlns:s="urn:s"><s:Body>\n  <Quote ref="Q-7"><Applicant email="a@b.example"><Name>Ada</Name></Applicant>' +
    "<Driver><Name>Ada</Name><Age>40</Age></Driver><Driver><Name>Bob</Name><Age>41</Age></Driver>" +
    "<Password>hidden</Password><Login AccessToken='hidden'/></Quote></s:Body></s:Envelope>"

  it("contains no secret and no value at a redacted path, with or without the envelope in the path", () => {
    const names =
      "<Driver><Name>[redacted]</Name><Age>40</Age></Driver><Driver><Name>[redacted]</Name><Age>41</Age></Driver>"
    const expected =
      '<s:Envelope xmlns:s="urn:s"><s:Body><Quote ref="Q-7"><Applicant>[redacted]</Applicant>' +
      `${names}<Password>[redacted]</Password><Login AccessToken="[redacted]"></Login></Quote></s:Body></s:Envelope>`
    for (const [applicant, driver] of [
      ["Applicant", "Driver.*.Name"],
      ["Envelope.Body.Quote.Applicant", "Quote.Driver.Name"],
      ["s:Envelope.*.*.Applicant", "*.Driver.*.Name"]
    ] as const) {
      assert.strictEqual(kept(body, [applicant, driver]), expected)
    }
  })

  it("can redact attributes, one of several elements, and everything in an element", () => {
    assert.include(kept(body, ["Applicant.email"]), '<Applicant email="[redacted]"><Name>Ada</Name>')
    assert.include(kept(body, ["Applicant.@email"]), '<Applicant email="[redacted]"><Name>Ada</Name>')
    assert.include(kept(body, ["Driver.1"]), "<Age>40</Age></Driver><Driver>[redacted]</Driver>")
    assert.include(kept(body, ["Applicant.*"]), '<Applicant email="[redacted]"><Name>[redacted]</Name></Applicant>')
  })

  it("is omitted if the body cannot be parsed", () => {
    assert.isNull(kept('<!DOCTYPE a [<!ENTITY x "1">]><a>&x;</a>'))
    assert.isNull(kept("<html><p>Please log in</html>"))
  })
})
