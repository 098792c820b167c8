// bigint.mjs: ids as BigInt, the third way out of docs/javascript.md.

import assert from 'node:assert/strict';
import test from 'node:test';
import pg from 'pg';
import { eq } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { client, value } from './database.mjs';
import { messageSchema } from './schema.mjs';

const { INT8, JSON: JSON_TYPE, JSONB } = pg.types.builtins;
const ID = 250089339780861953n;
const PRINTED = '250089339780861950';

pg.types.setTypeParser(INT8, BigInt);

await test('BigInt: a parser BigInt is exact, and so is the way back', async () => {
	assert.equal(await value('SELECT id FROM message'), ID);
	assert.equal(await value('SELECT body FROM message WHERE id = $1', ID), 'hello');
	const drawn = await value('SELECT uid_next()');
	assert.equal(await value('SELECT $1::bigint', drawn), drawn);
});

await test('BigInt: it is not called for arrays and inside of JSON', async () => {
	assert.deepEqual(await value('SELECT array_agg(id) FROM message'), [String(ID)]);
	assert.equal(String((await value('SELECT row_to_json(message) FROM message')).id), PRINTED);
});

await test('BigInt: the time of an id', async () => {
	const time = new Date(Number(ID >> 22n) + Date.UTC(2025, 0, 1));
	assert.deepEqual(await value("SELECT uid_timestamp($1, 'default')", ID), time);
});

await test('BigInt: JSON.stringify() throws, unless it is told how to write a BigInt', async () => {
	const row = { id: ID };
	assert.throws(() => JSON.stringify(row), { name: 'TypeError', message: 'Do not know how to serialize a BigInt' });
	await assert.rejects(value('SELECT $1::json', row), TypeError);
	const asText = (key, got) => (typeof got === 'bigint' ? String(got) : got);
	assert.equal(JSON.stringify(row, asText), `{"id":"${ID}"}`);
	BigInt.prototype.toJSON = function () { return String(this); };
	assert.equal(JSON.stringify(row), `{"id":"${ID}"}`);
	assert.equal((await value('SELECT $1::json', row)).id, String(ID));
	delete BigInt.prototype.toJSON;
});

// Does a reviver of JSON.parse() see the digits?
let digits;
JSON.parse('1', (key, got, context) => { digits = context?.source; });

await test('BigInt: a reviver that sees the digits makes them a BigInt', { skip: digits !== '1' && `not in Node ${process.version}` },
	async () => {
		const exact = (key, got, context) =>
			typeof got === 'number' && !Number.isSafeInteger(got) && /^-?\d+$/.test(context.source) ? BigInt(context.source) : got;
		for (const type of [JSON_TYPE, JSONB])
			pg.types.setTypeParser(type, (written) => JSON.parse(written, exact));
		for (const json of ['row_to_json(message)', 'to_jsonb(message)'])
			assert.deepEqual(await value(`SELECT ${json} FROM message`), { id: ID, body: 'hello' });
		assert.deepEqual(await value(`SELECT '[1, 2.5, 1e30, "1", null]'::json`), [1, 2.5, 1e30, '1', null]);
		for (const type of [JSON_TYPE, JSONB])
			pg.types.setTypeParser(type, JSON.parse);
	});

const schema = messageSchema('bigint');
const { message } = schema;

await test("BigInt: Drizzle's mode 'bigint' is exact in a row, but rounds where it puts rows into rows", async () => {
	const db = drizzle(client, { schema });
	assert.deepEqual(await db.select().from(message).where(eq(message.id, ID)), [{ id: ID, body: 'hello' }]);
	const [row] = await db.query.message.findMany({ with: { replies: true } });
	assert.equal(row.id, ID);
	assert.equal(row.replies[0].messageId, BigInt(Number(ID)));
});

await client.end();
