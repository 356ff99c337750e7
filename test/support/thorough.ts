/** Whether all tests run: on each database, and with more random requests and races than in `npm test`. */
export const isThorough = process.env.ALL_TESTS === '1'
