// Of which layouts an id may be.  What is expected comes from elsewhere than the module: ids that others published, guesses
// that were recorded, and costs that were added up by hand from the rules in the module.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import * as uidgen from '../../docs/uidgen.mjs';
import { knownGuesses, knownIds } from './vectors.mjs';

const { guess, habits, parse, parseLayout, parseTime, presets } = uidgen;
const root = new URL('../../', import.meta.url).pathname;
const UNTIL = '2026-11-25';
const EVER = { since: -(2n ** 63n), until: 2n ** 63n - 1n };
const DAY = 86400000000n;

/** What the module keeps to itself. */
const { costOf, costOfField } = new Function(`${readFileSync(`${root}docs/uidgen.mjs`, 'utf8').replace(/^export /gm, '')}\nreturn { costOf, costOfField };`)();

/** The rows without the time in microseconds, which is that of the text. */
const shown = (rows) => rows.map(({ rank, layout, timestamp, datacenter, worker, tag, sequence, also, why }) =>
	[rank, layout, timestamp, [datacenter, worker, tag, sequence].map((n) => n ?? '-').join(' '), also.join(' '), why]);
/** How the guesses read the text: its form, unless that is decimal or a uuid. */
const formOf = (row) => / read as (?!uuid)(\w+)/.exec(row.why)?.[1] ?? '';

test('recorded guesses: the same layouts in the same order', () => {
	const known = knownGuesses();
	assert.ok(known.length >= 260);
	for (const { given, since, until, layouts } of known) {
		const rows = guess(given, { since, until, layouts: ['default'] });
		assert.equal(rows.map((g) => g.layout + (formOf(g) && `/${formOf(g)}`)).join() || '-', layouts, `${given} from ${since} to ${until}`);
		assert.deepEqual(rows.map((g) => g.rank), rows.map((_, i) => i + 1));
		for (const { rank, layout, also, cost, why, ...fields } of rows.filter((g) => g.layout !== 'uuidv7')) {
			assert.deepEqual(fields, parse(fields.id, layout), `${given} as ${layout}`);
			assert.ok(uidgen.read(given).some((r) => r.id === fields.id && r.form === (formOf({ why }) || (/read as uuid/.test(why) ? 'uuid' : 'decimal'))), given);
		}
	}
});

test('an id in full', () => {
	assert.deepEqual(shown(guess('1278735254782615552', { until: UNTIL })), [
		[1, 'discord', '2024-08-29T15:17:22.492Z', '- 11 2 0', '', 'Discord; sequence is 0'],
		[2, 'twitter', '2020-07-02T17:00:17.149Z', '11 2 - 0', 'snowflake mybatis-plus', 'Twitter Snowflake; sequence is 0'],
		[3, 'baidu', '2017-07-24T09:48:14.000Z', '- 227505 - 0', '', "Baidu UidGenerator's defaults; sequence is 0"],
		[4, 'leaf', '2020-07-02T17:00:17.149Z', '- 354 - 0', '', 'Meituan Leaf; sequence is 0'],
		[5, 'instagram', '2016-06-23T04:45:42.967Z', '- 1416 - 0', '', 'Instagram'],
		[6, 'timeshard', '2019-03-08T03:11:40.257Z', '- 88 - 8192', 'pgactive', 'BDR 2 timeshard'],
	]);
	for (const given of [1278735254782615552n, '13FQTY1QHC800'])
		assert.deepEqual(shown(guess(given, { until: UNTIL })).map((row) => row.slice(0, 4)), shown(guess('1278735254782615552', { until: UNTIL })).map((row) => row.slice(0, 4)));
});

test('ids that others have published: which place the right layout has, and why', () => {
	const places = {
		'1278735254782615552': [2, 'Twitter Snowflake; sequence is 0'],
		'1120596181019111426': [2, 'Twitter Snowflake; sequence is small'],
		'175928847299117063': [1, 'Discord; worker is small; tag is 0; sequence is small'],
		'103270115826048975': [1, 'Mastodon'],
		'84748203440664576': [1, 'Seata before its worker moved to the front; sequence is 0'],
		'2207391485099498761': [1, 'Seata since its worker moved to the front'],
		'136169504773242881': [2, "pgEdge snowflake's first releases; sequence is 0; worker is small"],
		'148656994422095873': [2, 'CockroachDB unique_rowid(); worker is small'],
		'266241948824764416': [1, 'Discord; worker is small; tag is 0; sequence is 0'],
		'6904926959046938624': [1, 'LinkedIn'],
		// Nothing tells it from LinkedIn's, and its first bits are of a worker that Seata may have.
		'6854717870488702213': [3, 'TikTok'],
	};
	const known = knownIds().filter((k) => !k.layout.includes(':'));
	assert.deepEqual(known.map((k) => k.id).sort(), Object.keys(places).sort());
	for (const { id, layout } of known) {
		// Not counting ids of our own, which lie in the same years.
		const rows = guess(id, { until: UNTIL }).filter((g) => g.layout !== 'default');
		const place = rows.findIndex((g) => g.layout === layout || g.also.includes(layout));
		assert.deepEqual([place + 1, rows[place]?.why], places[id], `${id} of ${layout}`);
	}
});

test('what is known of the time narrows it, to the microsecond', () => {
	const between = (since, until) => guess('175928847299117063', { since, until }).map((g) => g.layout);
	assert.deepEqual(between('2016-04-01', '2016-06-01'), ['discord']);
	assert.deepEqual(between('2016-04-30T11:18:25.796Z', '2016-04-30T11:18:25.796Z'), ['discord']);
	assert.deepEqual(between('2016-04-30T11:18:25.796001Z', '2016-04-30T11:18:26Z'), []);
	assert.deepEqual(between('2016-04-30T11:18:25Z', '2016-04-30T11:18:25.795999Z'), []);
	assert.throws(() => guess(1n, { since: '2020-01-02', until: '2020-01-01' }), RangeError);
	assert.throws(() => guess(1n, { since: Date.UTC(2020, 0) }), SyntaxError);
	// Times are Dates, texts or microseconds.
	for (const times of [{ since: new Date(1262304000000), until: new Date(1514764800000) }, { since: '2010-01-01', until: '2018-01-01' }])
		assert.deepEqual(guess('1278735254782615552', times), guess('1278735254782615552', { since: 1262304000000000n, until: 1514764800000000n }));
});

test('any time at all', () => {
	const rows = guess('1278735254782615552', EVER);
	assert.ok(rows.length > 10);
	assert.deepEqual(rows.filter((g) => g.micros > parseTime('2200-01-01')).map((g) => [g.layout, g.timestamp]),
		[['yitter', '+011913-01-31T02:51:54.162Z'], ['mastodon', '2588-04-22T18:31:59.510Z']]);
});

test('without times: from 2010 on, until a day from now', () => {
	const now = parseTime('2020-01-01');
	const at = (timestamp) => guess(uidgen.make({ timestamp }, 'mastodon'), { now }).map((g) => g.layout);
	assert.ok(at('2020-01-02').includes('mastodon'), 'the clocks of others may be ahead');
	assert.ok(!at('2020-01-02T00:00:00.001Z').includes('mastodon'));
	assert.ok(at('2010-01-01').includes('mastodon'));
	assert.ok(!at('2009-12-31T23:59:59.999Z').includes('mastodon'));
	assert.ok(guess(uidgen.make({ timestamp: new Date() }, 'mastodon')).some((g) => g.layout === 'mastodon'), 'and now is now');
	// Hardly after the epoch it is none, unless the time is known.
	const early = (timestamp, options) => guess(uidgen.make({ timestamp }, 'discord'), options).some((g) => g.layout === 'discord');
	assert.ok(early('2015-01-02', { now }));
	assert.ok(!early('2015-01-01T23:59:59.999Z', { now }));
	assert.ok(!early('2015-01-01T12:00Z', { now, since: '2015-01-01' }));
	assert.ok(early('2015-01-01T12:00Z', { now, layouts: ['discord'] }));
});

test('numbers without a time in them', () => {
	for (const [id, count] of [[0n, 0], [1n, 0], [4711n, 0], [1000000000n, 0], [-1n, 0], [-(2n ** 63n), 0], [2n ** 63n - 1n, 1]])
		assert.equal(guess(id, { until: UNTIL }).length, count, String(id));
	assert.deepEqual(guess([]), []);
});

test("the asker's own layouts come first, each once, under its best-known name", () => {
	const layouts = ['time:39:1ms worker:12 sequence:12 epoch:2017-01-01', 'leaf', 'mybatis-plus epoch:2010-11-04T01:42:54.657Z', 'leaf', 'sonyflake'];
	assert.deepEqual(shown(guess('1278735254782615552', { since: '2010-01-01', until: UNTIL, layouts })).map(([rank, layout, , , also, why]) => [rank, layout, also, why]), [
		[1, 'time:39:1ms worker:12 sequence:12 epoch:2017-01-01', '', 'a layout of yours; sequence is 0'],
		[2, 'leaf', '', 'a layout of yours; sequence is 0'],
		[3, 'twitter', 'snowflake mybatis-plus', 'a layout of yours; sequence is 0'],
		[4, 'discord', '', 'Discord; sequence is 0'],
		[5, 'baidu', '', "Baidu UidGenerator's defaults; sequence is 0"],
		[6, 'instagram', '', 'Instagram'],
		[7, 'timeshard', 'pgactive', 'BDR 2 timeshard'],
	]);
	// They may be older than 2010, and their workers may be 0.
	assert.equal(guess(5n, { layouts: ['time:41:1ms sequence:12 epoch:1990-01-01'] })[0].timestamp, '1990-01-01T00:00:00.000Z');
	const unnumbered = uidgen.make({ timestamp: '2024-05-05', sequence: 1 }, 'pgedge');
	assert.equal(guess(unnumbered, { layouts: ['pgedge'] })[0].layout, 'pgedge');
	assert.ok(!guess(unnumbered).some((g) => g.layout === 'pgedge'));
	assert.throws(() => guess(1n, { layouts: ['twetter'] }), SyntaxError);
});

test('texts in each form', () => {
	const id = 1278735254782615552n;
	const uuid = uidgen.toUuid(id, 'twitter');
	const asText = [['discord', 'Discord; '], ['twitter', 'Twitter Snowflake; ']];
	const asUuid = [['twitter', 'Twitter Snowflake; '], ['leaf', 'Meituan Leaf; ']];
	for (const [given, expected, how] of [
		[uidgen.toText(id), asText, 'read as base32; '], [uidgen.toText(id).toLowerCase(), asText, 'read as base32; '], ['13F-QTY1-QHC800', asText, 'read as base32; '],
		[uidgen.toText(id, 'base58'), asText, 'read as base58; '], [uidgen.toText(id, 'base62'), asText, 'read as base62; '],
		[uidgen.toText(id, 'hex'), asText, 'read as hex; '], ['0x11befaf06f162000', asText, 'read as hex; '], [' 1278735254782615552\r\n', asText, ''],
		[uuid, asUuid, 'read as uuid; its time agrees with the uuid; '], [uuid.replaceAll('-', '').toUpperCase(), asUuid, 'read as uuid; its time agrees with the uuid; ']])
		assert.deepEqual(guess(given, { until: UNTIL }).slice(0, 2).map((g) => [g.layout, g.id, g.why]),
			expected.map(([layout, what]) => [layout, id, `${what}${how}sequence is 0`]), given);
	assert.deepEqual(shown(guess('01ARZ3NDEKTSV4RRFFQ69G5FAV')), [[1, 'ulid', '2016-07-30T23:54:10.259Z', '- - - -', '', 'a ULID; it begins with its time']]);
	assert.deepEqual(shown(guess('017F22E2-79B0-7CC3-98C4-DC0C0C07398F')), [[1, 'uuidv7', '2022-02-22T19:22:22.000Z', '- - - -', '', 'a uuid of version 7; it begins with its time']]);
	// Their time is asked for as well.
	for (const times of [{ until: '2016-07-30' }, { since: '2016-07-31' }])
		assert.deepEqual(guess('01ARZ3NDEKTSV4RRFFQ69G5FAV', times), []);
	assert.deepEqual(guess('00ARZ3NDEKTSV4RRFFQ69G5FAV'), [], 'it is of 1981');
	assert.deepEqual(guess('18446744073709551615'), []);
	assert.deepEqual(guess('-1'), []);
	assert.deepEqual([...new Set(guess('14444444444', { until: UNTIL }).map((g) => `${g.id} ${formOf(g)}`))], ['22673905626284517 base58', '894335389859706796 base62']);
	assert.throws(() => guess('an id'), SyntaxError);
});

test('layouts whose time differs from the uuid are left out', () => {
	const rows = (layout) => guess(uidgen.toUuid(175928847299117063n, layout), { until: UNTIL }).map((g) => [g.layout, g.id, g.why]);
	assert.deepEqual(rows('discord'), [
		['discord', 175928847299117063n, 'Discord; read as uuid; its time agrees with the uuid; worker is small; tag is 0; sequence is small'],
		['uuidv7', 175928847299117063n, 'a uuid of version 7; it begins with its time']]);
	assert.deepEqual(rows('twitter epoch:2014-01-01').map(([layout]) => layout), ['uuidv7']);
	// A uuid has milliseconds.
	assert.ok(rows('cockroachdb').some(([layout]) => layout === 'cockroachdb'));
});

test('several ids are of one layout', () => {
	const ids = ['1278735254782615552', '1278735254782615553', uidgen.toText(1278735254782615554n)];
	assert.ok(guess(ids).some((g) => g.layout === 'twitter' && g.id === 1278735254782615552n));
	// One that Discord cannot have made yet.
	assert.ok(!guess([...ids, 2n ** 62n], { now: parseTime('2026-11-24') }).some((g) => g.layout === 'discord'));
});

test('the bits that an id takes, added up by hand', () => {
	const ticks = 'time:20:1s worker:8 tag:4 sequence:12 epoch:2026-01-01';
	const since = parseTime('2026-01-01');
	const until = since + 1000n * 1000000n;	// 1000 ticks: 10 bits
	const half = 500n << 24n;
	const middle = since + 500n * 1000000n;
	const cost = (text, id, from = since, to = until, like = {}) => costOf([id], { text, rarity: 0, spread: [], positive: [], own: true, ...like }, from, to, null);

	assert.equal(cost(ticks, half), 10 + 1 + 1 + 1, 'time, and fields that are zero');
	assert.equal(cost(ticks, half | 1n), 10 + 1 + 1 + 4 + 1, 'sequence 1: its length, of 12, and itself');
	assert.equal(cost(ticks, half | 4095n), 10 + 1 + 1 + 4 + 12, 'sequence 4095');
	assert.equal(cost(ticks, half | 5n << 16n), 10 + 3 + 3 + 1 + 1, 'worker 5: its length, of 8, and itself');
	assert.equal(cost(ticks, half | 5n << 16n, since, until, { spread: ['worker'] }), 10 + 8 + 1 + 1, 'workers that are spread');
	assert.equal(cost(ticks, half, since, until, { spread: ['worker'] }), 10 + 8 + 1 + 1, '... also where it is 0');
	assert.equal(cost(ticks, half, since, until - 490n * 1000000n), 9 + 3, 'less time, fewer bits');
	assert.equal(cost(ticks, half, since, middle + 4n * 365n * DAY), 27 + 1 + 3, 'a time of four years before');
	assert.equal(cost(ticks, half, since, middle + 4n * 365n * DAY - 1n), 27 + 3, '... and of a little less');
	assert.equal(cost('time:20:10ms zero:3 worker:8 epoch:2026-01-01', 50000n << 11n), 17 + 1, 'a zero says nothing');
	assert.equal(cost('worker:8 time:20:1s epoch:2026-01-01', 5n << 20n | 500n), 10 + 3 + 3, 'a field above the time');
	assert.equal(cost('zero:1 time:20:1s datacenter:4 worker:8 tag:4 sequence:12 epoch:2026-01-01', 500n << 28n), 10 + 4, 'all fields that there are');

	assert.equal(cost(ticks, half, middle), 12, 'since the very time');
	assert.equal(cost(ticks, half, middle + 1n), null, 'since a microsecond later');
	assert.equal(cost(ticks, half, since, middle), 12, 'until the very time');
	assert.equal(cost(ticks, half, since, middle - 1n), null, 'until a microsecond earlier');
	assert.equal(cost(ticks, half | 1n << 44n), null, 'a bit that is of no field');
	assert.equal(cost(ticks, -1n), null, 'a negative id of 44 bits');
	assert.equal(cost('time:63:3600s epoch:2026-01-01', 2n ** 63n - 1n, since, EVER.until), null, 'a time beyond 64 bits');
	assert.ok(cost('time:63:1us epoch:0001-01-01', 2n ** 63n - 1n, EVER.since, 2n ** 64n) > 0, 'all the time that there is');

	assert.equal(cost(ticks, half, since, until, { rarity: 7 }), 13 + 7, 'rare ones take more');
	assert.equal(cost(ticks, half, since, until, { positive: ['tag'] }), null, 'a field that is never 0');
	assert.equal(cost(ticks, half | 1n << 12n, since, until, { positive: ['tag'] }), 10 + 1 + 3 + 1, '... and 1');
	assert.equal(costOf([half, half | 1n], { text: ticks, rarity: 0, spread: [], positive: [], own: true }, since, middle + 4n * 365n * DAY, null), 27 + 1 + 3 + 7, 'two ids: time and age count once');

	const small = (bits, value) => costOfField(bits, value, false) < bits;
	assert.deepEqual([small(12, 0n), small(12, 127n), small(12, 128n)], [true, true, false], 'small values of 12 bits');
	assert.deepEqual([small(5, 1n), small(5, 2n), small(1, 0n)], [true, false, false], 'and of 5 and of 1');
});

test('every preset knows its own ids, in no absurd number of bits', () => {
	let state = 42n;
	const random = (n) => {
		state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
		return (state >> 11n) % n;
	};
	const names = [...new Map(presets.map((p) => [parseLayout(p.layout).text, p.name]).reverse()).values()];
	assert.deepEqual(Object.keys(habits).sort(), names.sort(), 'each has habits, and only the first of those that are equal');
	for (const name of names) {
		const { rarity, spread, positive } = habits[name];
		const layout = parseLayout(name);
		assert.ok(rarity >= 0 && rarity <= 7, name);
		assert.ok([...spread, ...positive].every((field) => layout.fields.some((f) => f.name === field)), name);
		const first = layout.epoch > parseTime('2010-01-01') ? layout.epoch : parseTime('2010-01-01');
		for (let i = 0; i < 100; i++) {
			const fields = Object.fromEntries(layout.fields.filter((f) => !['time', 'zero'].includes(f.name))
				.map((f) => [f.name, Number(random(f.maximum + 1n) | BigInt(positive.includes(f.name)))]));
			const id = uidgen.make({ micros: first + DAY + random(300n * DAY), ...fields }, layout);
			const cost = costOf([id], { text: layout.text, rarity, spread, positive, own: false }, null, parseTime('2027-02-05'), null);
			// At most: 64 bits, the rarity, the age, and for each field the length of its length.
			assert.ok(cost >= 1 && cost <= 64 + 7 + 6 + 4 * 5, `${id} of ${name}: ${cost}`);
			assert.ok(guess(id, { until: '2027-02-05' }).some((g) => g.layout === name), `${id} of ${name}`);
		}
	}
});

test('the table of the manual, and the one of docs/runs: what is guessed, and what the script prints', () => {
	const rows = guess('175928847299117063', { until: UNTIL });
	assert.equal(rows.length, 15);
	const guessed = rows.slice(0, 4).map((g) => `| ${g.rank} | ${g.layout} | ${g.timestamp.replace('T', ' ').replace('Z', '')} | ${g.worker} |${g.sequence === null ? '' : ` ${g.sequence}`} | ${g.why} |\n`).join('');
	const printed = execFileSync(process.execPath, [`${root}test/decoder/ranks.mjs`], { encoding: 'utf8' });
	for (const [file, table] of [['docs/decoding.md', guessed], ['docs/runs/guesses.txt', printed]])
		assert.ok(readFileSync(root + file, 'utf8').includes(table), `${file} has another table than this:\n${table}`);
});
