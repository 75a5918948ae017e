/** A range of leading digits, and the lengths of card numbers in that range. */
interface Issuer {
  readonly from: number
  readonly to: number
  readonly lengths: ReadonlyArray<number>
}

const issuers: ReadonlyArray<Issuer> = [
  // Visa
  { from: 4, to: 4, lengths: [13, 16, 19] },
  // Mastercard
  { from: 51, to: 55, lengths: [16] },
  { from: 2221, to: 2720, lengths: [16] },
  // American Express
  { from: 34, to: 34, lengths: [15] },
  { from: 37, to: 37, lengths: [15] },
  // Discover
  { from: 6011, to: 6011, lengths: [16, 17, 18, 19] },
  { from: 644, to: 659, lengths: [16, 17, 18, 19] },
  // UnionPay
  { from: 62, to: 62, lengths: [16, 17, 18, 19] },
  // JCB
  { from: 3528, to: 3589, lengths: [16, 17, 18, 19] },
  // Diners Club
  { from: 300, to: 305, lengths: [14, 15, 16, 17, 18, 19] },
  { from: 3095, to: 3095, lengths: [14, 15, 16, 17, 18, 19] },
  { from: 36, to: 36, lengths: [14, 15, 16, 17, 18, 19] },
  { from: 38, to: 39, lengths: [14, 15, 16, 17, 18, 19] }
]

const isIssued = (digits: string): boolean =>
  issuers.some(({ from, lengths, to }) => {
    const first = Number(digits.slice(0, String(from).length))
    return first >= from && first <= to && lengths.includes(digits.length)
  })

/** Whether the Luhn check digit matches. All payment card numbers end with such a digit. */
const passesLuhn = (digits: string): boolean => {
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits.charAt(digits.length - 1 - i))
    const weighed = i % 2 === 0 ? digit : digit * 2
    sum += weighed > 9 ? weighed - 9 : weighed
  }
  return sum % 10 === 0
}

/**
 * Whether digits are a payment card number: they have an issuer's prefix, a length that the issuer uses, and a valid
 * check digit.
 */
export const isCardNumber = (digits: string): boolean => isIssued(digits) && passesLuhn(digits)
