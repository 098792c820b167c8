// The module does what the extension does, in Node.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import * as uidgen from '../../docs/uidgen.mjs';
import { rows, vectors } from './vectors.mjs';

const root = new URL('../../', import.meta.url).pathname;
const number = (text) => text === null ? null : Number(text);

test('the vectors', () => {
	const answers = {
		layout: (text) => uidgen.parseLayout(text).text,
		fields: (id, by) => {
			const { micros, ...fields } = uidgen.parse(id, by);
			assert.equal(uidgen.make({ micros, ...fields }, by), BigInt(id), id);
			const time = uidgen.isoTime(micros).replace(/\.(\d{3})Z/, '.$1000Z');
			return [time, ...['datacenter', 'worker', 'tag', 'sequence'].map((name) => fields[name] ?? '-')].join(' ');
		},
		// Not with a sign, nor of times that the layout has not.
		range: (text, by, output) => {
			if (/^-|^(\d+) \1$/.test(output))
				return output;
			const micros = uidgen.parseTime(text);
			const largest = uidgen.parseLayout(by).fields.filter(({ name }) => !/time|zero/.test(name)).map(({ name, maximum }) => [name, Number(maximum)]);
			return `${uidgen.make({ micros }, by)} ${uidgen.make({ micros, ...Object.fromEntries(largest) }, by)}`;
		},
		text: (id, form) => roundTrip(id, uidgen.toText(id, form), (text) => uidgen.fromText(text, form)),
		uuid: (id, by) => roundTrip(id, uidgen.toUuid(id, by), uidgen.fromUuid),
		read: (text, form) => String(form === 'uuid' ? uidgen.fromUuid(text) : uidgen.fromText(text, form)),
	};
	const roundTrip = (id, text, read) => {
		assert.equal(read(text), BigInt(id), id);
		return text;
	};
	const rows = vectors();
	assert.ok(rows.length > 150);
	for (const [kind, input, by, output] of rows)
		if (/^error 22(023|P02)/.test(output))
			assert.throws(() => answers[kind](input, by, output), SyntaxError, input);
		else if (/^error/.test(output))
			assert.throws(() => answers[kind](input, by, output), RangeError, input);
		else
			assert.equal(answers[kind](input, by, output), output, `${kind} ${input} ${by}`);
});

test('ten thousand ids at random: fields, forms, and back', () => {
	const ids = rows('ids');
	assert.ok(ids.length >= 10000);
	for (const [id, layout, micros, datacenter, worker, tag, sequence, base32, base58, base62, hex, uuid] of ids) {
		const got = uidgen.parse(id, layout);
		const fields = { datacenter: number(datacenter), worker: number(worker), tag: number(tag), sequence: number(sequence) };
		assert.deepEqual(got, { id: BigInt(id), timestamp: uidgen.isoTime(BigInt(micros)), micros: BigInt(micros), ...fields }, `${id} ${layout}`);
		assert.equal(uidgen.make({ micros: BigInt(micros), ...fields }, layout), BigInt(id), `${id} ${layout}`);
		for (const [form, text] of Object.entries({ base32, base58, base62, hex })) {
			assert.equal(uidgen.toText(id, form), text);
			assert.equal(uidgen.fromText(text, form), BigInt(id));
		}
		if (uuid === null)
			assert.throws(() => uidgen.toUuid(id, layout), RangeError);
		else {
			assert.equal(uidgen.toUuid(id, layout), uuid);
			assert.equal(uidgen.fromUuid(uuid), BigInt(id));
		}
	}
});

test('layouts: the same are good, and mean the same', () => {
	const layouts = rows('layouts');
	assert.ok(layouts.length >= 2000);
	for (const [text, expected] of layouts) {
		let got = null;
		try {
			const { text: canonical, bits, epoch } = uidgen.parseLayout(text);
			const { workers, perSecond, fits53, expires } = uidgen.layoutInfo(text);
			got = [canonical, bits, epoch, workers, perSecond, fits53 ? 't' : 'f', ...(expires < 9224318016000000000n - 946684800000000n ? [expires] : [])].join('|');
		} catch (error) {
			assert.ok(error instanceof SyntaxError, `${text}: ${error}`);
		}
		if (expected !== null && got !== null && expected.split('|').length === 6)
			got = got.split('|').slice(0, 6).join('|');	// an end that PostgreSQL's timestamps do not reach
		assert.equal(got, expected, JSON.stringify(text));
	}
});

test('texts: the same are ids, in the same forms and their order', () => {
	const texts = rows('texts');
	assert.ok(texts.length >= 2000);
	for (const [text, expected] of texts) {
		let got = null;
		try {
			got = uidgen.read(text).map((r) => `${r.form}|${r.id ?? r.micros}`).join(' ');
		} catch (error) {
			assert.ok(error instanceof SyntaxError, `${text}: ${error}`);
		}
		assert.equal(got, expected, text);
	}
});

test('what is out of range is an error', () => {
	assert.throws(() => uidgen.parse(-1n, 'default'), RangeError);
	assert.throws(() => uidgen.parse(2n ** 64n, 'discord'), RangeError);
	assert.throws(() => uidgen.parse(250089339780861953, 'default'), RangeError);	// a number that is not exact
	assert.throws(() => uidgen.parse((2n ** 63n) - 1n, 'time:63:3600s epoch:2025-01-01'), RangeError);
	assert.throws(() => uidgen.make({ timestamp: '2024-12-31' }, 'default'), RangeError);
	assert.throws(() => uidgen.make({ timestamp: '2094-09-08' }, 'default'), RangeError);
	assert.throws(() => uidgen.make({ timestamp: '2026-01-01', worker: 1024 }, 'default'), RangeError);
	assert.throws(() => uidgen.make({ timestamp: '2026-01-01', worker: -1 }, 'default'), RangeError);
	assert.throws(() => uidgen.make({ timestamp: '2026-01-01', tag: 1 }, 'default'), RangeError);
	assert.throws(() => uidgen.make({ worker: 1 }, 'default'), SyntaxError);
	assert.throws(() => uidgen.toText(1n, 'base64'), RangeError);
	assert.throws(() => uidgen.fromText('0', 'hex'), SyntaxError);
	assert.throws(() => uidgen.fromUuid('017F22E2-79B0-7CC3-98C4-DC0C0C07398F'), SyntaxError);
	assert.throws(() => uidgen.make({ timestamp: new Date(NaN) }, 'default'), SyntaxError);
});

test('ranges of time', () => {
	const ranges = rows('ranges');
	assert.ok(ranges.length > 1000);
	for (const [layout, from, to, first, last] of ranges)
		assert.deepEqual(uidgen.range(from && BigInt(from), to && BigInt(to), layout), { first: BigInt(first), last: BigInt(last) }, `${layout} from ${from} to ${to}`);
	assert.deepEqual(uidgen.range(new Date('2026-11-22'), '2026-11-23', 'default'), { first: 250047627264000000n, last: 250410015129599999n });
	assert.throws(() => uidgen.range(null, '2026-11-22', 'seata'), RangeError);
});

test('times are Dates and texts', () => {
	for (const timestamp of [new Date('2020-07-02T17:00:17.149Z'), '2020-07-02T17:00:17.149Z'])
		assert.equal(uidgen.make({ timestamp, datacenter: 11, worker: 2 }, 'twitter'), 1278735254782615552n);
});

test('it needs nothing of Node, and nothing else', () => {
	const text = readFileSync(`${root}docs/uidgen.mjs`, 'utf8');
	assert.doesNotMatch(text, /\b(import|require|process|Buffer|fetch|document|window)\b\s*[.(]/);
});
