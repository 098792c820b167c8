// js53ms.mjs: a server whose ids are below 2^53, the second way out of docs/javascript.md.

import assert from 'node:assert/strict';
import test from 'node:test';
import pg from 'pg';
import { eq } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { client, value } from './database.mjs';
import { messageSchema } from './schema.mjs';

let ids, numbers;

await test('js53ms: each id is a safe integer', async () => {
	// 10,000 ids: single ones, and all of some milliseconds.
	await client.query('INSERT INTO message SELECT uid_next() FROM generate_series(1, 4880)');
	await client.query(
		`INSERT INTO message SELECT generate_series(first, first + 511)
		 FROM (SELECT uid_reserve(512) AS first FROM generate_series(1, 10)) AS blocks`);
	ids = await value('SELECT array_agg(id ORDER BY id) FROM message');
	numbers = ids.map(Number);
	assert.equal(new Set(ids).size, 10000);
	assert.ok(numbers.every(Number.isSafeInteger));
	assert.deepEqual(numbers.map(String), ids);
});

await test('js53ms: the largest id is 2^53 - 1', async () => {
	assert.equal(await value("SELECT uid_max('infinity')"), String(Number.MAX_SAFE_INTEGER));
});

await test('js53ms: JSON carries ids there and back', async () => {
	for (const json of ['json_agg(id ORDER BY id)', 'jsonb_agg(id ORDER BY id)', 'to_json(array_agg(id ORDER BY id))']) {
		const got = await value(`SELECT ${json} FROM message`);
		assert.deepEqual(got, numbers);
		assert.deepEqual(JSON.parse(JSON.stringify(got)).map(String), ids);
	}
	assert.equal(
		await value('SELECT count(*) FROM message WHERE id IN (SELECT value::bigint FROM json_array_elements_text($1))',
			JSON.stringify(numbers)),
		'10000');
	assert.deepEqual((await client.query('SELECT row_to_json(m) AS m FROM message AS m ORDER BY id')).rows.map(({ m }) => m.id), numbers);
});

await test('js53ms: a parser Number is exact', async () => {
	assert.equal(await value('SELECT max(id) FROM message'), ids.at(-1));
	const before = pg.types.getTypeParser(pg.types.builtins.INT8);
	pg.types.setTypeParser(pg.types.builtins.INT8, Number);
	const { rows } = await client.query('SELECT id FROM message ORDER BY id');
	assert.deepEqual(rows.map((row) => row.id), numbers);
	assert.equal(await value('SELECT count(*) FROM message'), 10000);
	pg.types.setTypeParser(pg.types.builtins.INT8, before);
});

await test("js53ms: Drizzle's mode 'number' is exact, also where it puts rows into rows", async () => {
	const schema = messageSchema('number');
	const { message } = schema;
	const db = drizzle(client, { schema });
	const id = numbers[4567];

	await client.query('INSERT INTO reply (message_id) VALUES ($1)', [id]);
	const [row] = await db.query.message.findMany({ where: eq(message.id, id), with: { replies: true } });
	assert.equal(row.id, id);
	assert.equal(row.replies[0].messageId, id);
});

await test('js53ms: the time of an id', async () => {
	const id = numbers[1234];
	const time = await value('SELECT uid_timestamp($1)', id);
	assert.deepEqual(new Date(Math.floor(id / 4096) + Date.UTC(2025, 0, 1)), time);
	// Numbers have 32 bits for the operator.
	assert.notEqual((id >> 12) + Date.UTC(2025, 0, 1), time.getTime());
});

await test('js53ms: room for 8 workers and 512,000 ids a second each, until 2094', async () => {
	const { rows } = await client.query('SELECT * FROM uid_layout_info()');
	assert.deepEqual(
		[rows[0].workers, rows[0].ids_per_second, rows[0].expires_at.toISOString(), rows[0].fits_in_53_bits],
		['8', '512000', '2094-09-07T15:47:35.552Z', true]);
});

await client.end();
