/**
 * uidgen.mjs
 *	  Ids without a server: takes them apart, puts them together, writes and reads their
 *	  forms, and says of which layout one may be.
 *
 * This module runs in browsers, Node (18 and later) and bundlers, without dependencies or
 * network access.  Ids are BigInt with the values of PostgreSQL's bigint: an id whose highest
 * bit is set is negative.  The functions give the results of the extension's functions, for
 * the same layouts; the suite "decoder" compares both.  guess() has no counterpart in the
 * extension.  docs/build/decoder.pl copies this file into docs/decoder.html, and copies the
 * presets into this file from the extension's sources.
 *
 * Times are microseconds since 1970, as BigInt, and text of ISO 8601.
 *
 * Functions throw a RangeError or a SyntaxError for an invalid layout or id, and for a value out of range.
 */

/**
 * @typedef {'time'|'datacenter'|'worker'|'tag'|'sequence'|'zero'} FieldName
 * @typedef {{name: FieldName, bits: number, shift: number, maximum: bigint}} Field
 * @typedef {object} Layout
 * @property {string} text canonical: equal layouts have equal texts
 * @property {Field[]} fields most significant first
 * @property {number} bits all together
 * @property {bigint} unit length of a tick, in microseconds
 * @property {bigint} epoch begin of tick 0, in microseconds since 1970
 *
 * @typedef {object} Parsed
 * @property {bigint} id
 * @property {string} timestamp ISO 8601, UTC
 * @property {bigint} micros the timestamp in microseconds since 1970
 * @property {number|null} datacenter null: the layout has no such field
 * @property {number|null} worker
 * @property {number|null} tag
 * @property {number|null} sequence
 *
 * @typedef {'decimal'|'base32'|'base58'|'base62'|'hex'|'uuid'|'ulid'} Form
 * @typedef {object} Reading what a text may stand for
 * @property {Form} form
 * @property {bigint|null} id null: the text holds no id of 64 bits
 * @property {bigint|null} micros a time that the text itself holds
 *
 * @typedef {object} Guess
 * @property {number} rank 1 is the best
 * @property {string} layout a preset, or a layout's text; or ulid or uuidv7
 * @property {string[]} also other names of the same layout
 * @property {bigint|null} id
 * @property {string} timestamp
 * @property {bigint} micros
 * @property {number|null} datacenter
 * @property {number|null} worker
 * @property {number|null} tag
 * @property {number|null} sequence
 * @property {number|null} cost bits that describe the ids in this layout; guesses are sorted by it, and a small difference means little; null: the text itself holds its time
 * @property {string} why
 */

// ---- Presets ----

/**
 * The layouts that have a name.
 *
 * @type {{name: string, layout: string, note: string}[]}
 */
export const presets = [
	// presets begins
	{ name: 'default', layout: 'time:41:1ms worker:10 sequence:12 epoch:2025-01-01', note: "uidgen's default: 1024 workers, 4096 ids a millisecond each, until 2094" },
	{ name: 'js53', layout: 'time:31:1s worker:8 sequence:14 epoch:2025-01-01', note: "uidgen's layout of seconds, fit for JavaScript numbers: ids stay below 2^53; 256 workers, 16384 ids a second each, until 2093" },
	{ name: 'js53ms', layout: 'time:41:1ms worker:3 sequence:9 epoch:2025-01-01', note: "uidgen's layout of milliseconds, fit for JavaScript numbers: ids stay below 2^53; 8 workers, 512 ids a millisecond each, until 2094" },
	{ name: 'seconds', layout: 'time:32:1s worker:14 sequence:17 epoch:2025-01-01', note: "uidgen's layout of seconds: 16384 workers, 131072 ids a second each, until 2161" },
	{ name: 'twitter', layout: 'time:41:1ms datacenter:5 worker:5 sequence:12 epoch:2010-11-04T01:42:54.657Z', note: 'Twitter Snowflake' },
	{ name: 'snowflake', layout: 'time:41:1ms datacenter:5 worker:5 sequence:12 epoch:2010-11-04T01:42:54.657Z', note: 'another name of twitter' },
	{ name: 'baidu', layout: 'time:28:1s worker:22 sequence:13 epoch:2016-05-19T16:00:00Z', note: "Baidu UidGenerator's defaults; used up since 2024-11-20: give a new epoch to generate with it" },
	{ name: 'leaf', layout: 'time:41:1ms worker:10 sequence:12 epoch:2010-11-04T01:42:54.657Z', note: 'Meituan Leaf, snowflake mode' },
	{ name: 'mybatis-plus', layout: 'time:41:1ms datacenter:5 worker:5 sequence:12 epoch:2010-11-04T01:42:54.657Z', note: 'MyBatis-Plus Sequence (ASSIGN_ID)' },
	{ name: 'discord', layout: 'time:42:1ms worker:5 tag:5 sequence:12 epoch:2015-01-01', note: 'Discord, for decoding; its process is the tag' },
	{ name: 'instagram', layout: 'time:41:1ms worker:13 sequence:10 epoch:2011-08-24T21:07:01.721Z', note: 'Instagram, for decoding; its shard is the worker' },
	{ name: 'sonyflake', layout: 'time:39:10ms sequence:8 worker:16 epoch:2014-09-01', note: 'Sonyflake version 1' },
	{ name: 'sonyflake-v2', layout: 'time:39:10ms sequence:8 worker:16 epoch:2025-01-01', note: 'Sonyflake version 2 with its defaults' },
	{ name: 'mastodon', layout: 'time:48:1ms sequence:16 epoch:1970-01-01', note: 'Mastodon, for decoding; its lowest bits are a hash plus a counter' },
	{ name: 'tsid', layout: 'time:42:1ms worker:10 sequence:12 epoch:2020-01-01', note: 'TSID with 10 bits of node, for decoding' },
	{ name: 'cosid', layout: 'time:41:1ms worker:10 sequence:12 epoch:2019-12-24T16:00:00Z', note: 'CosId, milliseconds' },
	{ name: 'cosid-s', layout: 'time:31:1s worker:10 sequence:22 epoch:2019-12-24T16:00:00Z', note: 'CosId, seconds' },
	{ name: 'cosid-js', layout: 'time:41:1ms worker:3 sequence:9 epoch:2019-12-24T16:00:00Z', note: 'CosId safe for JavaScript, milliseconds' },
	{ name: 'cosid-js-s', layout: 'time:31:1s worker:3 sequence:19 epoch:2019-12-24T16:00:00Z', note: 'CosId safe for JavaScript, seconds' },
	{ name: 'seata', layout: 'worker:10 time:41:1ms sequence:12 epoch:2020-05-02T16:00:00Z', note: 'Seata since its worker moved to the front, for decoding' },
	{ name: 'seata-2020', layout: 'time:41:1ms worker:10 sequence:12 epoch:2020-05-02T16:00:00Z', note: 'Seata before its worker moved to the front' },
	{ name: 'yitter', layout: 'time:51:1ms worker:6 sequence:6 epoch:2020-02-19T18:20:02Z', note: 'Yitter IdGenerator with its defaults and its Java epoch' },
	{ name: 'pgedge', layout: 'time:41:1ms worker:10 sequence:12 epoch:2023-01-01', note: 'pgEdge snowflake' },
	{ name: 'pgedge-2023', layout: 'time:41:1ms sequence:12 worker:10 epoch:2023-01-01', note: "pgEdge snowflake's first releases" },
	{ name: 'cockroachdb', layout: 'time:48:10us worker:15 epoch:2015-01-01', note: 'CockroachDB unique_rowid(), for decoding; node ids of up to 15 bits, which its exclusive or leaves as they are' },
	{ name: 'timeshard', layout: 'time:40:1ms worker:10 sequence:14 epoch:2016-10-06T23:22:19.634Z', note: 'BDR 2 timeshard, for decoding' },
	{ name: 'pgactive', layout: 'time:40:1ms worker:10 sequence:14 epoch:2016-10-06T23:22:19.634Z', note: 'pgactive_snowflake_id_nextval(), for decoding' },
	{ name: 'pgdog', layout: 'time:41:1ms worker:10 sequence:12 epoch:2025-11-26T19:13:15Z', note: "PgDog's unique ids" },
	{ name: 'linkedin', layout: 'time:41:1ms sequence:22 epoch:1970-01-01', note: 'LinkedIn, for decoding; what its other bits are is not published' },
	{ name: 'tiktok', layout: 'time:32:1s tag:16 sequence:16 epoch:1970-01-01', note: 'TikTok, for decoding; what its other bits are is not published' },
	// presets ends
];

/**
 * What guess() assumes of the ids of a preset: their rarity in bits; the fields whose values
 * are `spread` over the whole range; and the `positive` fields, which are never 0.  Only the
 * first of several equal presets is listed.  A preset that is not listed counts as rare.
 *
 * @type {Record<string, {rarity: number, spread: FieldName[], positive: FieldName[]}>}
 */
export const habits = {
	'default': { rarity: 3, spread: ['worker'], positive: [] },
	'js53': { rarity: 3, spread: ['worker'], positive: [] },
	'js53ms': { rarity: 3, spread: ['worker'], positive: [] },
	'seconds': { rarity: 5, spread: ['worker'], positive: [] },
	'twitter': { rarity: 0, spread: [], positive: [] },
	'baidu': { rarity: 3, spread: [], positive: [] },
	'leaf': { rarity: 4, spread: [], positive: [] },
	'discord': { rarity: 0, spread: [], positive: [] },
	'instagram': { rarity: 2, spread: ['worker', 'sequence'], positive: [] },
	'sonyflake': { rarity: 2, spread: ['worker'], positive: [] },
	'sonyflake-v2': { rarity: 3, spread: ['worker'], positive: [] },
	'mastodon': { rarity: 2, spread: ['sequence'], positive: [] },
	'tsid': { rarity: 1, spread: ['worker', 'sequence'], positive: [] },
	'cosid': { rarity: 5, spread: [], positive: [] },
	'cosid-s': { rarity: 7, spread: [], positive: [] },
	'cosid-js': { rarity: 6, spread: [], positive: [] },
	'cosid-js-s': { rarity: 7, spread: [], positive: [] },
	'seata': { rarity: 3, spread: ['worker', 'sequence'], positive: [] },
	'seata-2020': { rarity: 4, spread: ['worker'], positive: [] },
	'yitter': { rarity: 3, spread: [], positive: [] },
	'pgedge': { rarity: 4, spread: [], positive: ['worker'] },
	'pgedge-2023': { rarity: 5, spread: [], positive: ['worker'] },
	'cockroachdb': { rarity: 2, spread: [], positive: ['worker'] },
	'timeshard': { rarity: 6, spread: ['sequence'], positive: [] },
	'pgdog': { rarity: 5, spread: [], positive: [] },
	'linkedin': { rarity: 2, spread: ['sequence'], positive: [] },
	'tiktok': { rarity: 2, spread: ['tag', 'sequence'], positive: [] },
};

// ---- Times ----

const DAY = 86400000000n;

/** @param {bigint} micros @returns {string} with three digits of a second, or six if it has more */
export function isoTime(micros) {
	const { year, month, day, rest } = civil(micros);
	const two = (n) => String(n).padStart(2, '0');
	const seconds = Number(rest / 1000000n);
	const fraction = String(rest % 1000000n).padStart(6, '0');
	return `${yearText(year)}-${two(month)}-${two(day)}T${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:` +
		`${two(seconds % 60)}.${fraction.endsWith('000') ? fraction.slice(0, 3) : fraction}Z`;
}

function yearText(year) {
	return year > 9999 ? '+' + String(year).padStart(6, '0') : String(year).padStart(4, '0');
}

function floorDivide(a, b) {
	return a / b - (a % b < 0n ? 1n : 0n);
}

/** Days from 1970-01-01.  Years begin on 1 March here, which puts the leap day last. */
function daysFromDate(year, month, day) {
	const y = month <= 2 ? year - 1 : year;
	const m = month <= 2 ? month + 9 : month - 3;
	return y * 365 + Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400) + Math.floor((m * 153 + 2) / 5) + day - 719469;
}

function civil(micros) {
	const days = Number(floorDivide(micros, DAY));
	let year = Math.floor((days + 719468) * 400 / 146097);
	while (daysFromDate(year + 1, 1, 1) <= days)
		year++;
	let month = 1;
	while (month < 12 && daysFromDate(year, month + 1, 1) <= days)
		month++;
	return { year, month, day: days - daysFromDate(year, month, 1) + 1, rest: micros - BigInt(days) * DAY };
}

function daysInMonth(year, month) {
	return month === 12 ? 31 : daysFromDate(year, month + 1, 1) - daysFromDate(year, month, 1);
}

/** @param {string} text as in a layout's epoch @returns {bigint|null} microseconds since 1970 */
export function parseTime(text) {
	const m = /^(\d{4})-(\d\d)-(\d\d)(?:t(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?(?:z|([+-])(\d\d)(?::?(\d\d))?)?)?$/i.exec(text);
	if (!m)
		return null;
	const [year, month, day, hour, minute, second] = [1, 2, 3, 4, 5, 6].map((i) => Number(m[i] ?? 0));
	const zoneHour = Number(m[9] ?? 0), zoneMinute = Number(m[10] ?? 0);
	if (year < 1 || month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month) ||
		hour > 23 || minute > 59 || second > 59 || zoneHour > 15 || zoneMinute > 59)
		return null;
	const zone = (m[8] === '-' ? -60 : 60) * (zoneHour * 60 + zoneMinute);
	const micros = BigInt(daysFromDate(year, month, day)) * DAY +
		BigInt(hour * 3600 + minute * 60 + second - zone) * 1000000n + BigInt((m[7] ?? '').padEnd(6, '0'));
	return micros >= BigInt(daysFromDate(1, 1, 1)) * DAY && micros < BigInt(daysFromDate(10000, 1, 1)) * DAY ? micros : null;
}

/** A time as people write it, or null if there is none. @param {Date|string|bigint|null|undefined} time @returns {bigint|null} */
function asMicros(time) {
	if (time === null || time === undefined || typeof time === 'bigint')
		return time ?? null;
	const micros = time instanceof Date && !Number.isNaN(time.getTime()) ? BigInt(time.getTime()) * 1000n : typeof time === 'string' ? parseTime(time) : null;
	if (micros === null)
		throw new SyntaxError(`${time} is no time: give a Date, a text of ISO 8601, or microseconds since 1970 as BigInt`);
	return micros;
}

// ---- Layouts ----

const FIELDS = ['time', 'datacenter', 'worker', 'tag', 'sequence', 'zero'];
const GRAMMAR = 'Items are time:BITS:UNIT, datacenter:BITS, worker:BITS, tag:BITS, sequence:BITS, zero:BITS and epoch:ISO-8601, separated by blanks.';

/** @param {string} item @param {string} reason */
function badItem(item, reason) {
	return new SyntaxError(`invalid layout: item "${item.length > 60 ? item.slice(0, 60) + '...' : item}": ${reason}`);
}

function parseItems(items, layout, overriding) {
	const given = new Set();
	for (const item of items) {
		const [name, ...values] = item.toLowerCase().split(':');
		if (values.length === 0)
			throw badItem(item, 'it is neither a preset at the start nor NAME:VALUE');
		if (given.has(name))
			throw badItem(item, name === 'epoch' ? 'the epoch is given twice' : 'the field is given twice');
		given.add(name);
		if (name === 'epoch') {
			layout.epoch = parseTime(values.join(':'));
			if (layout.epoch === null)
				throw badItem(item, 'it is not a date or time of ISO 8601');
			continue;
		}
		if (!FIELDS.includes(name))
			throw badItem(item, 'there is no such field');
		if (overriding && !layout.bits.has(name))
			throw badItem(item, 'the preset has no such field to replace');
		const most = name === 'time' ? 63 : 31;
		if (!/^\d{1,3}$/.test(values[0]) || Number(values[0]) < 1 || Number(values[0]) > most)
			throw badItem(item, `its number of bits must be from 1 to ${most}`);
		if (name === 'time') {
			const unit = values.length === 2 && /^(\d{1,10})(us|ms|s)$/.exec(values[1]);
			const length = unit ? BigInt(unit[1]) * { us: 1n, ms: 1000n, s: 1000000n }[unit[2]] : 0n;
			if (length < 1n || length > 3600000000n)
				throw badItem(item, 'its unit must be a number and us, ms or s, at most an hour');
			layout.unit = length;
		} else if (values.length > 1)
			throw badItem(item, 'nothing may follow its number of bits');
		layout.bits.set(name, Number(values[0]));
	}
	return given;
}

/** @param {bigint} unit */
function unitText(unit) {
	return unit % 1000000n === 0n ? `${unit / 1000000n}s` : unit % 1000n === 0n ? `${unit / 1000n}ms` : `${unit}us`;
}

/** @param {bigint} epoch */
function epochText(epoch) {
	const text = isoTime(epoch);
	return epoch % DAY === 0n ? text.slice(0, 10) : text.replace('.000Z', 'Z');
}

/** @type {Map<string, Layout>} */
const parsed = new Map();

/**
 * @param {string} text a preset, optionally with items that replace its own, or a list of items
 * @returns {Layout}
 */
export function parseLayout(text) {
	const known = parsed.get(text);
	if (known)
		return known;
	const items = text.split(/[ \t\r\n]+/).filter((item) => item !== '');
	if (items.length === 0)
		throw new SyntaxError('invalid layout: it is empty');
	const made = { bits: new Map(), unit: 0n, epoch: null };
	const preset = presets.find((p) => p.name === items[0].toLowerCase());
	if (preset)
		parseItems(preset.layout.split(' '), made, false);
	else if (!items[0].includes(':'))
		throw badItem(items[0], 'there is no such preset');
	parseItems(preset ? items.slice(1) : items, made, Boolean(preset));
	if (!made.bits.has('time'))
		throw new SyntaxError('invalid layout: it has no time field');
	if (made.epoch === null)
		throw new SyntaxError('invalid layout: it has no epoch');
	let shift = 0;
	/** @type {Field[]} */
	const fields = [...made.bits].reverse().map(([name, bits]) => {
		const field = { name, bits, shift, maximum: (1n << BigInt(bits)) - 1n };
		shift += bits;
		return field;
	}).reverse();
	if (shift > 64)
		throw new SyntaxError(`invalid layout: its fields take ${shift} bits together; an id has 64`);
	if (fields[0].name === 'zero')
		shift -= /** @type {Field} */ (fields.shift()).bits;
	const canonical = fields.map((f) => `${f.name}:${f.bits}${f.name === 'time' ? ':' + unitText(made.unit) : ''}`).join(' ') +
		` epoch:${epochText(made.epoch)}`;
	const layout = { text: canonical, fields, bits: shift, unit: made.unit, epoch: made.epoch };
	if (parsed.size < 1000)
		parsed.set(text, layout);
	return layout;
}

/** @param {Layout|string} layout @returns {Layout} */
function asLayout(layout) {
	return typeof layout === 'string' ? parseLayout(layout) : layout;
}

/** Why no ids can be made with a layout; null if ids can be made. @param {Layout|string} layout @returns {string|null} */
export function cannotGenerate(layout) {
	const { fields, bits } = asLayout(layout);
	const time = fields.find((f) => f.name === 'time');
	if (fields[0] !== time)
		return `Its first field is ${fields[0].name}, so its ids are not in the order of time.`;
	if (time.bits < 20)
		return `Its time has ${time.bits} bits; at least 20 are needed.`;
	if (!fields.some((f) => f.name === 'sequence'))
		return 'It has no sequence.';
	if (bits > 63)
		return `Its fields take ${bits} bits together; with more than 63, ids could be negative.`;
	return null;
}

/**
 * What a layout has room for.
 *
 * @param {Layout|string} layout
 * @returns {{expires: bigint, workers: bigint, perTick: bigint, perSecond: bigint, fits53: boolean}} `expires` in microseconds since 1970
 */
export function layoutInfo(layout) {
	const { fields, bits, unit, epoch } = asLayout(layout);
	const room = (name) => 1n << BigInt(fields.find((f) => f.name === name)?.bits ?? 0);
	const time = fields.find((f) => f.name === 'time');
	const ticks = 1n << BigInt(time.shift + time.bits === 64 ? time.bits - 1 : time.bits);
	return {
		expires: epoch + ticks * unit,
		workers: room('datacenter') * room('worker'),
		perTick: room('sequence'),
		perSecond: room('sequence') * 1000000n / unit,
		fits53: bits <= 53,
	};
}

// ---- Ids ----

/** @param {bigint|number|string} id @returns {bigint} as a bigint of SQL, which may be negative */
function asId(id) {
	if (typeof id === 'number' && !Number.isSafeInteger(id))
		throw new RangeError(`${id} is not exact: ids above 2^53 must be BigInt or text`);
	const number = BigInt(id);
	if (number < -(1n << 63n) || number >= 1n << 64n)
		throw new RangeError(`${number} has more than 64 bits`);
	return BigInt.asIntN(64, number);
}

/** Could this id have been made with the layout? @param {bigint} id @param {Layout|string} layout */
export function fits(id, layout) {
	const mask = asLayout(layout).fields.filter((f) => f.name !== 'zero').reduce((sum, f) => sum | f.maximum << BigInt(f.shift), 0n);
	return (BigInt.asUintN(64, id) & ~mask) === 0n;
}

/**
 * The value of each field, most significant first.
 *
 * @param {bigint|number|string} id @param {Layout|string} layout
 * @returns {(Field & {value: bigint})[]}
 */
export function fieldValues(id, layout) {
	const number = BigInt.asUintN(64, asId(id));
	return asLayout(layout).fields.map((f) => ({ ...f, value: number >> BigInt(f.shift) & f.maximum }));
}

/**
 * @param {bigint|number|string} id @param {Layout|string} layout
 * @returns {Parsed}
 */
export function parse(id, layout) {
	const of = asLayout(layout);
	const number = asId(id);
	if (!fits(number, of))
		throw new RangeError(`id ${number} does not fit the layout "${of.text}": it has other bits set`);
	const values = Object.fromEntries(fieldValues(number, of).map((f) => [f.name, f.value]));
	const micros = of.epoch + values.time * of.unit;
	// The last year of PostgreSQL's timestamps.
	if (micros >= BigInt(daysFromDate(294277, 1, 1)) * DAY)
		throw new RangeError(`the time in id ${number} is out of range: its tick is ${values.time}`);
	const small = (name) => values[name] === undefined ? null : Number(values[name]);
	return {
		id: number, timestamp: isoTime(micros), micros,
		datacenter: small('datacenter'), worker: small('worker'), tag: small('tag'), sequence: small('sequence'),
	};
}

/**
 * The id with these fields; fields that are left out are 0.
 *
 * @param {{timestamp?: string|Date, micros?: bigint, datacenter?: number|null, worker?: number|null, tag?: number|null, sequence?: number|null}} values
 * @param {Layout|string} layout
 * @returns {bigint}
 */
export function make(values, layout) {
	const of = asLayout(layout);
	const micros = values.micros ?? asMicros(values.timestamp);
	if (micros === null)
		throw new SyntaxError('an id needs a timestamp');
	if (micros < of.epoch)
		throw new RangeError(`timestamp is before the epoch of the layout: ${isoTime(micros)}`);
	let id = 0n;
	for (const name of ['datacenter', 'worker', 'tag', 'sequence'])
		if (values[name] && !of.fields.some((f) => f.name === name))
			throw new RangeError(`the layout has no ${name} field`);
	for (const f of of.fields) {
		const value = f.name === 'time' ? (micros - of.epoch) / of.unit : BigInt(values[f.name] ?? 0);
		if (value < 0n || value > (f.name === 'zero' ? 0n : f.maximum))
			throw new RangeError(`${f.name} ${value} is out of range`);
		id |= value << BigInt(f.shift);
	}
	return BigInt.asIntN(64, id);
}

/** The first id from a time on; 2^63 if there is none. @param {bigint} micros @param {Layout} layout */
function firstSince(micros, layout) {
	const [time] = layout.fields;
	const mask = layout.fields.filter((f) => f.name !== 'zero').reduce((bits, f) => bits | f.maximum << BigInt(f.shift), 0n);
	const tick = (micros - layout.epoch) / layout.unit;
	if (micros < layout.epoch)
		return mask >> 63n ? -(1n << 63n) : 0n;
	return tick < 1n << BigInt(Math.min(time.bits, 63 - time.shift)) ? tick << BigInt(time.shift) : BigInt.asUintN(63, mask) + 1n;
}

/**
 * The first and the last id of a range of time, as in uid_between(): a tick that contains a bound belongs to the range that
 * begins at this bound.  A time that is null or left out is an open end.
 *
 * @param {Date|string|bigint|null|undefined} from @param {Date|string|bigint|null|undefined} to @param {Layout|string} layout
 * @returns {{first: bigint, last: bigint}} no id is in the range if the last is below the first
 */
export function range(from, to, layout) {
	const of = asLayout(layout);
	if (of.fields[0].name !== 'time')
		throw new RangeError(`ids of the layout "${of.text}" are not in the order of time: its first field is ${of.fields[0].name}`);
	const [begin, end] = [asMicros(from), asMicros(to)];
	const largest = (1n << 63n) - 1n;
	const behind = end === null ? largest + 1n : firstSince(end, of);
	const first = begin === null ? -largest - 1n : firstSince(begin, of);
	return { first: first > largest ? largest : first, last: behind < -largest ? behind : behind - 1n };
}

// ---- Forms ----

const ALPHABETS = {
	base32: '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
	base58: '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz',
	base62: '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz',
	hex: '0123456789abcdef',
};
const LENGTHS = { base32: 13, base58: 11, base62: 11, hex: 16 };

/** @param {bigint|number|string} id @param {'base32'|'base58'|'base62'|'hex'} [form] @returns {string} */
export function toText(id, form = 'base32') {
	const digits = ALPHABETS[form];
	if (!digits)
		throw new RangeError(`there is no form "${form}"`);
	let number = BigInt.asUintN(64, asId(id));
	let text = '';
	for (let i = 0; i < LENGTHS[form]; i++) {
		text = digits[Number(number % BigInt(digits.length))] + text;
		number /= BigInt(digits.length);
	}
	return text;
}

/** The number that digits stand for; null if a character is no digit. */
function readDigits(text, digits) {
	let number = 0n;
	for (const c of text) {
		const value = digits.indexOf(c);
		if (value < 0)
			return null;
		number = number * BigInt(digits.length) + BigInt(value);
	}
	return number;
}

/** The digits of Crockford's base 32, for letters that people confuse, too. */
function plainBase32(text) {
	return text.replace(/-/g, '').toUpperCase().replace(/[IL]/g, '1').replace(/O/g, '0');
}

/** @param {string} text @param {'base32'|'base58'|'base62'|'hex'} form @returns {bigint|null} */
function tryText(text, form) {
	const plain = form === 'base32' ? plainBase32(text) : form === 'hex' ? text.toLowerCase() : text;
	const number = plain.length === LENGTHS[form] ? readDigits(plain, ALPHABETS[form]) : null;
	return number === null || number >= 1n << 64n ? null : BigInt.asIntN(64, number);
}

/** @param {string} text @param {'base32'|'base58'|'base62'|'hex'} [form] @returns {bigint} */
export function fromText(text, form = 'base32') {
	if (!ALPHABETS[form])
		throw new RangeError(`there is no form "${form}"`);
	const id = tryText(text, form);
	if (id === null)
		throw new SyntaxError(`invalid ${form} id: "${text}"`);
	return id;
}

/** CRC-10/ATM of 14 bytes: 48 bits of milliseconds and 64 of the id. */
function checkBits(milliseconds, id) {
	let check = 0;
	const bits = milliseconds << 64n | id;
	for (let i = 111n; i >= 0n; i--) {
		const top = check >> 9 ^ Number(bits >> i & 1n);
		check = check << 1 & 0x3ff ^ (top ? 0x233 : 0);
	}
	return BigInt(check);
}

/** @param {bigint|number|string} id @param {Layout|string} layout @returns {string} a uuid of version 7 with the time of the id, and the id */
export function toUuid(id, layout) {
	const { id: number, micros } = parse(id, layout);
	const milliseconds = micros / 1000n;
	if (micros < 0n || milliseconds >= 1n << 48n)
		throw new RangeError(`the time in id ${number} has no place in a uuid`);
	const bits = BigInt.asUintN(64, number);
	const uuid = milliseconds << 80n | 7n << 76n | bits >> 52n << 64n | 2n << 62n | (bits & (1n << 52n) - 1n) << 10n |
		checkBits(milliseconds, bits);
	return uuid.toString(16).padStart(32, '0').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Version, time and, if uid_to_uuid() made it, the id. */
function readUuid(text) {
	if (!/^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(text))
		return null;
	const bits = BigInt('0x' + text.replace(/-/g, ''));
	const milliseconds = bits >> 80n;
	const id = (bits >> 64n & 0xfffn) << 52n | bits >> 10n & (1n << 52n) - 1n;
	const rfc = (bits >> 62n & 3n) === 2n;
	return {
		version: rfc ? Number(bits >> 76n & 15n) : null,
		micros: milliseconds * 1000n,
		id: rfc && (bits >> 76n & 15n) === 7n && checkBits(milliseconds, id) === (bits & 0x3ffn) ? BigInt.asIntN(64, id) : null,
	};
}

/** @param {string} uuid @returns {bigint} the id in a uuid that toUuid() or uid_to_uuid() made */
export function fromUuid(uuid) {
	const id = readUuid(uuid)?.id ?? null;
	if (id === null)
		throw new SyntaxError(`uuid holds no id: "${uuid}"`);
	return id;
}

/**
 * What a text may stand for, the likeliest first.  Overlapping forms come in this order: ULID,
 * uuid, hex with 0x, decimal, base32 (as TSIDs have it), base58, base62, hex.
 *
 * @param {string|bigint|number} text
 * @returns {Reading[]}
 */
export function read(text) {
	if (typeof text !== 'string')
		return [{ form: 'decimal', id: asId(text), micros: null }];
	const plain = text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '');
	if (/^[0-7oOiIlL][0-9A-TV-Za-tv-z]{25}$/.test(plain)) {
		const number = readDigits(plainBase32(plain), ALPHABETS.base32);
		return [{ form: 'ulid', id: null, micros: (number >> 80n) * 1000n }];
	}
	const uuid = readUuid(plain);
	if (uuid) {
		if (uuid.version !== 7)
			throw new SyntaxError(`the uuid "${plain}" is ${uuid.version === null ? 'of another variant' : `of version ${uuid.version}`}: only version 7 begins with its time`);
		return [{ form: 'uuid', id: uuid.id, micros: uuid.micros }];
	}
	if (/^0x[0-9a-f]{1,16}$/i.test(plain))
		return [{ form: 'hex', id: BigInt.asIntN(64, BigInt(plain.toLowerCase())), micros: null }];
	/** @type {Reading[]} */
	const readings = [];
	const add = (form, id) => {
		if (id !== null)
			readings.push({ form, id, micros: null });
	};
	if (/^-?(?:0|[1-9]\d{0,19})$/.test(plain)) {
		const number = BigInt(plain);
		add('decimal', number >= -(1n << 63n) && number < 1n << 64n ? BigInt.asIntN(64, number) : null);
	}
	for (const form of /** @type {const} */ (['base32', 'base58', 'base62', 'hex']))
		if (!plain.startsWith('-'))
			add(form, tryText(plain, form));
	if (readings.length === 0)
		throw new SyntaxError(`"${plain.length > 40 ? plain.slice(0, 40) + '...' : plain}" is no id in any form that is known`);
	return readings;
}

// ---- Guesses ----

/*
 * Layouts differ in epoch and widths, and no bit of an id tells its layout: 15 of the 30
 * presets are possible for a usual id.  So guess() sorts the layouts by the number of bits
 * that describe the id to a reader who knows the layout, the fewest first:
 *
 *	rarity		how rare ids of this system are (habits)
 *	time		the length of the number of ticks from `since`, or the epoch if that is
 *				later, to `until`; and one bit for each four years before `until`, since
 *				most ids that people ask about are young
 *	fields		a field whose values are spread over its range takes all of its bits.
 *				Other fields are mostly small: 1 bit for a zero; else the length of the
 *				value, and the bits that describe this length.  Some systems have fields
 *				that are never 0: an id with a 0 there is not theirs
 *
 * The figures are opinions, not measurements; docs/decoding.md says how often they are right.
 */

/** The first of these ids were made in 2010, by Twitter. */
const SINCE = /** @type {bigint} */ (parseTime('2010-01-01'));

/** The number of ids that people ask about halves with each such time that their ids are older. */
const AGE = 4n * 365n * DAY;

/** A text has several readings; each costs this many bits more than the reading before. */
const OTHER_READING = 8;

function max(a, b) {
	return a > b ? a : b;
}

/** @param {bigint} n @returns {number} */
function bitLength(n) {
	return n <= 0n ? 0 : n.toString(2).length;
}

/** Each layout among the presets once: the name of its first preset, and the names of its others. */
function presetCandidates() {
	const candidates = new Map();
	for (const preset of presets) {
		const { text } = parseLayout(preset.layout);
		const equal = candidates.get(text);
		if (equal)
			equal.also.push(preset.name);
		else
			// A note begins with the name of the system.
			candidates.set(text, { name: preset.name, also: [], text, ...(habits[preset.name] ?? { rarity: 7, spread: [], positive: [] }), own: false, what: /^[^,;:]*/.exec(preset.note)[0] });
	}
	return candidates;
}

/** The caller's layouts first, then the presets; each layout once. */
function allCandidates(layouts) {
	const rest = presetCandidates();
	const own = layouts.map((layout) => {
		const { text } = parseLayout(layout);
		const preset = rest.get(text);
		rest.delete(text);
		// The caller's own workers may be 0.
		return { name: text, also: [], text, rarity: 0, spread: [], ...preset, positive: [], own: true, what: 'a layout of yours' };
	});
	return [...own.filter((c, i) => own.findIndex((d) => d.text === c.text) === i), ...rest.values()];
}

/** The bits for a field's value, if values are mostly small, and 0 half of the time. */
function costOfField(bits, value, spread) {
	return spread ? bits : value === 0n ? 1 : bitLength(BigInt(bits - 1)) + bitLength(value);
}

/**
 * The bits that describe these ids in a layout: the fewer, the likelier is the layout.  Null
 * if an id is not of this layout, or of another time.  `exact` is the time that the text
 * itself holds, in whole milliseconds.
 */
function costOf(ids, candidate, since, until, exact) {
	const layout = parseLayout(candidate.text);
	// A number whose time is within a day of the epoch is hardly an id of this layout.
	const earliest = candidate.own ? max(since ?? layout.epoch, layout.epoch) : max(since ?? SINCE, layout.epoch + DAY);
	const room = earliest > until ? 0 : bitLength((until - earliest) / layout.unit);
	let cost = candidate.rarity + room;
	for (const id of ids) {
		if (!fits(id, layout))
			return null;
		const values = fieldValues(id, layout);
		const micros = layout.epoch + /** @type {any} */ (values.find((f) => f.name === 'time')).value * layout.unit;
		if (micros < earliest || micros > until || exact !== null && floorDivide(micros, 1000n) * 1000n !== exact)
			return null;
		if (id === ids[0])
			cost += Number((until - micros) / AGE);
		for (const { name, bits, value } of values) {
			if (name === 'time' || name === 'zero')
				continue;
			if (value === 0n && candidate.positive.includes(name))
				return null;
			cost += costOfField(bits, value, candidate.spread.includes(name));
		}
	}
	return cost;
}

/** The reasons for a layout, in words. */
function reasons(id, candidate, form) {
	const of = fieldValues(id, candidate.text).filter((f) => f.name !== 'time' && f.name !== 'zero' && !candidate.spread.includes(f.name));
	return [candidate.what,
		...(form === 'decimal' ? [] : [`read as ${form}`]),
		...(form === 'uuid' ? ['its time agrees with the uuid'] : []),
		...of.flatMap((f) => f.value === 0n ? [`${f.name} is 0`] : costOfField(f.bits, f.value, false) < f.bits ? [`${f.name} is small`] : []),
	].join('; ');
}

/** The ids of all inputs, for each form in which all can be read; the first reading of each input, if there is no such form. */
function idsByForm(inputs) {
	const all = inputs.map((input) => read(input));
	const common = all[0].filter((r) => all.every((readings) => readings.some((other) => other.form === r.form)));
	if (common.length === 0)
		return [{ form: all[0][0].form, ids: all.map((readings) => readings[0].id), exact: null }];
	return common.map((r) => ({
		form: r.form,
		ids: all.map((readings) => /** @type {any} */ (readings.find((other) => other.form === r.form)).id),
		exact: inputs.length === 1 ? r.micros : null,
	}));
}

/**
 * The layouts that an id may have, the likeliest first.  Several ids count as ids of a single
 * layout; a guess shows the fields of the first id.
 *
 * @param {string|bigint|number|(string|bigint|number)[]} input
 * @param {{since?: Date|string|bigint|null, until?: Date|string|bigint|null, now?: Date|string|bigint, layouts?: string[]}} [options]
 *   times are Dates, texts of ISO 8601, or microseconds since 1970; `layouts` come before all others
 * @returns {Guess[]}
 */
export function guess(input, options = {}) {
	const inputs = Array.isArray(input) ? input : [input];
	if (inputs.length === 0)
		return [];
	const now = asMicros(options.now) ?? BigInt(Date.now()) * 1000n;
	const since = asMicros(options.since);
	const until = asMicros(options.until) ?? now + DAY;
	if (since !== null && since > until)
		throw new RangeError('since must not be later than until');
	const candidates = allCandidates(options.layouts ?? []);
	/** @type {any[]} */
	const found = [];
	idsByForm(inputs).forEach(({ form, ids, exact }, reading) => {
		if (ids.every((id) => id !== null))
			candidates.forEach((candidate, order) => {
				const cost = costOf(ids, candidate, since, until, exact);
				if (cost !== null)
					found.push({ key: [candidate.own ? order - candidates.length : 0, cost + OTHER_READING * reading, reading, order], layout: candidate.name, also: candidate.also,
						...parse(ids[0], candidate.text), cost: cost + OTHER_READING * reading, why: reasons(ids[0], candidate, form) });
			});
		if (exact !== null && exact >= (since ?? SINCE) && exact <= until)
			found.push({ key: [1, 0, reading, 0], layout: form === 'ulid' ? 'ulid' : 'uuidv7', also: [], id: ids[0], timestamp: isoTime(exact), micros: exact,
				datacenter: null, worker: null, tag: null, sequence: null, cost: null,
				why: form === 'ulid' ? 'a ULID; it begins with its time' : 'a uuid of version 7; it begins with its time' });
	});
	found.sort((a, b) => a.key.reduce((order, k, i) => order || k - b.key[i], 0));
	return found.map(({ key, ...row }, i) => ({ rank: i + 1, ...row }));
}
