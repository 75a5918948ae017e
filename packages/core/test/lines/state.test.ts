import { assert, describe, it } from "@effect/vitest"
import * as State from "../../src/lines/State.ts"

// The first and last prefix of every range, copied from the published list and not from the data file.
const ranges: ReadonlyArray<readonly [State.StateCode, ...ReadonlyArray<string>]> = [
  ["AL", "350-369"],
  ["AK", "995-999"],
  ["AZ", "850-865"],
  ["AR", "716-729"],
  ["CA", "900-961"],
  ["CO", "800-816"],
  ["CT", "060-069"],
  ["DE", "197-199"],
  ["DC", "200-200", "202-205", "569-569"],
  ["FL", "320-339", "341-349"],
  ["GA", "300-319", "398-399"],
  ["HI", "967-968"],
  ["ID", "832-838"],
  ["IL", "600-629"],
  ["IN", "460-479"],
  ["IA", "500-528"],
  ["KS", "660-679"],
  ["KY", "400-427"],
  ["LA", "700-714"],
  ["ME", "039-049"],
  ["MD", "206-219"],
  ["MA", "010-027", "055-055"],
  ["MI", "480-499"],
  ["MN", "550-567"],
  ["MS", "386-397"],
  ["MO", "630-658"],
  ["MT", "590-599"],
  ["NE", "680-693"],
  ["NV", "889-898"],
  ["NH", "030-038"],
  ["NJ", "070-089"],
  ["NM", "870-884"],
  ["NY", "005-005", "100-149"],
  ["NC", "270-289"],
  ["ND", "580-588"],
  ["OH", "430-459"],
  ["OK", "730-732", "734-749"],
  ["OR", "970-979"],
  ["PA", "150-196"],
  ["RI", "028-029"],
  ["SC", "290-299"],
  ["SD", "570-577"],
  ["TN", "370-385"],
  ["TX", "733-733", "750-799", "885-885"],
  ["UT", "840-847"],
  ["VT", "050-054", "056-059"],
  ["VA", "201-201", "220-246"],
  ["WA", "980-994"],
  ["WV", "247-268"],
  ["WI", "530-549"],
  ["WY", "820-831"]
]

describe("a state", () => {
  it("is one of the 50 states or DC", () => {
    assert.strictEqual(State.servedStates.length, 51)
    assert.deepStrictEqual([...State.servedStates].sort(), ranges.map(([code]) => code).sort())
  })

  it("is found for every assigned ZIP prefix, but not for an unassigned prefix", () => {
    const expected = new Map<number, State.StateCode>()
    for (const [code, ...of] of ranges) {
      for (const range of of) {
        const [first = 0, last = 0] = range.split("-").map(Number)
        for (let zip3 = first; zip3 <= last; zip3++) {
          assert.isFalse(expected.has(zip3), `${zip3} twice`)
          expected.set(zip3, code)
        }
      }
    }
    for (let zip3 = 0; zip3 < 1_000; zip3++) {
      const zip = `${String(zip3).padStart(3, "0")}01`
      assert.strictEqual(State.stateOfZip(zip), expected.get(zip3) ?? null, zip)
    }
  })

  it.each([
    ["06390", "NY"],
    ["06389", "CT"],
    ["83414", "WY"],
    ["83415", "ID"],
    ["06390-1234", "NY"],
    ["75201-0001", "TX"]
  ])("is found for the ZIP code %s, which is in %s", (zip, state) => assert.strictEqual(State.stateOfZip(zip), state))

  it.each(["00601", "00801", "00901", "96910", "34002", "09012", "96201", "96601", "00000", "99"])(
    "is not found for the ZIP code %s, which is outside the 50 states and DC",
    (zip) => assert.isNull(State.stateOfZip(zip))
  )

  it.each(["PR", "GU", "VI", "AS", "MP", "AE", "tx", "", "toString"])("cannot be %j", (code) =>
    assert.notInclude([...State.stateCodes], code)
  )

  it("has minimum liability limits in whole dollars", () => {
    assert.deepStrictEqual(State.get("TX").liability_minimum, {
      bodily_injury_per_person_usd: 30_000,
      bodily_injury_per_accident_usd: 60_000,
      property_damage_usd: 25_000
    })
    assert.strictEqual(State.get("UT").liability_minimum.bodily_injury_per_accident_usd, 65_000)
  })

  it("may forbid the use of credit information", () => {
    const by = (use: State.CreditUse) => State.servedStates.filter((code) => State.get(code).credit_use === use)
    assert.deepStrictEqual(by("prohibited"), ["CA", "HI", "MA", "MI"])
    assert.deepStrictEqual(by("restricted"), ["MD", "OR", "UT", "WA"])
  })

  it("may require uninsured motorist coverage", () => {
    assert.isTrue(State.get("IL").uninsured_motorist_required)
    assert.isFalse(State.get("TX").uninsured_motorist_required)
  })
})
