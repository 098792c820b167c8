// How good guesses are: for each preset, of how many ids out of a hundred it is the first, among the first three and among
// the first five.  Prints the table of docs/runs/guesses.txt.  The ids are random, and the same in each run.
//
//	node test/decoder/ranks.mjs [IDS-OF-EACH-PRESET]
import { guess, habits, layoutInfo, make, parseLayout, parseTime, presets } from '../../docs/uidgen.mjs';

const EACH = Number(process.argv[2] ?? 200);
const NOW = parseTime('2026-11-24');
const DAY = 86400000000n;
const YEARS = 8n * 365n * DAY;
const MONTH = 15n * DAY;

let state = 42n;
/** From 0 to n - 1. */
function random(n) {
	state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
	return (state >> 11n) % n;
}

/** From the field's smallest value to the largest, or below a number. */
function upTo(most, field, preset) {
	const least = habits[preset.name].positive.includes(field.name) ? 1n : 0n;
	return least + random((most < field.maximum ? most : field.maximum) + 1n - least);
}

/** Fields at random over their whole room. */
const anything = (field, preset) => upTo(field.maximum, field, preset);
/** As quiet systems have them, but where the system spreads them. */
const quiet = (field, preset) => habits[preset.name].spread.includes(field.name) ? anything(field, preset) :
	field.name === 'sequence' ? random(5n) > 0n ? 0n : upTo(3n, field, preset) : upTo(15n, field, preset);

function ranks(preset, values, month) {
	const layout = parseLayout(preset.layout);
	const { expires } = layoutInfo(layout);
	const last = expires < NOW ? expires - DAY : NOW;
	const first = layout.epoch + DAY > last - YEARS ? layout.epoch + DAY : last - YEARS;
	const found = [];
	for (let i = 0; i < EACH; i++) {
		const micros = first + random(last - first);
		const id = make({ micros, ...Object.fromEntries(layout.fields.filter((f) => !['time', 'zero'].includes(f.name)).map((f) => [f.name, Number(values(f, preset))])) }, layout);
		const rows = guess(id, { now: NOW, ...(month ? { since: micros - MONTH, until: micros + MONTH } : {}) });
		found.push(rows.find((row) => row.layout === preset.name || row.also.includes(preset.name))?.rank ?? Infinity);
	}
	return [1, 3, 5].map((k) => Math.round(found.filter((rank) => rank <= k).length / EACH * 100));
}

const kinds = [[anything, false], [quiet, false], [quiet, true]];
const sums = kinds.map(() => [0, 0, 0]);
let rows = 0;
console.log('| preset | any fields: 1st, in 3, in 5 | quiet: 1st, in 3, in 5 | quiet, within a month: 1st, in 3, in 5 |\n|---|---|---|---|');
const seen = new Set();
for (const preset of presets) {
	const { text } = parseLayout(preset.layout);
	if (seen.has(text))
		continue;
	seen.add(text);
	const of = kinds.map(([values, month]) => ranks(preset, values, month));
	of.forEach((shares, i) => shares.forEach((share, k) => sums[i][k] += share));
	rows++;
	console.log(`| ${preset.name} | ${of.map((shares) => shares.join(', ')).join(' | ')} |`);
}
console.log(`| all | ${sums.map((shares) => shares.map((sum) => Math.round(sum / rows)).join(', ')).join(' | ')} |`);
