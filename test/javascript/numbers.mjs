// numbers.mjs: what becomes of ids above 2^53 in JavaScript, and where; the first part
// of docs/javascript.md.

import assert from 'node:assert/strict';
import test from 'node:test';
import pg from 'pg';
import { eq } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { bigint, pgTable, text } from 'drizzle-orm/pg-core';
import { client, value } from './database.mjs';

// The id of the page, the number that JavaScript makes of it, and how that is printed.
const ID = '250089339780861953';
const NUMBER = 250089339780861952n;
const PRINTED = '250089339780861950';

// What a search for each of these ids finds, after JSON has carried them as numbers.
function searches(ids) {
	const rows = new Set(ids);
	const count = { itself: 0, another: 0, none: 0 };
	for (const id of ids) {
		const wanted = JSON.stringify(JSON.parse(id));
		count[wanted === id ? 'itself' : rows.has(wanted) ? 'another' : 'none']++;
	}
	return count;
}

await test('ids of the default layout are above 2^53 since 2025-01-25', async () => {
	assert.equal(Number.MAX_SAFE_INTEGER, 2 ** 53 - 1);
	assert.equal((await value("SELECT uid_timestamp(9007199254740992, 'default')")).toISOString(), '2025-01-25T20:31:23.648Z');
	assert.ok(BigInt(await value('SELECT uid_next()')) > 2n ** 53n);
});

await test('numbers are multiples of 32 there, and of 64 from 2027-03-07 on', async () => {
	assert.equal((await value("SELECT uid_timestamp(288230376151711744, 'default')")).toISOString(), '2027-03-07T08:44:36.736Z');
	assert.equal(BigInt(Number(ID)), NUMBER);
	for (const [power, gap] of [[57n, 32n], [58n, 64n]]) {
		const start = 2n ** power;
		assert.equal(BigInt(Number(start + gap / 2n - 1n)), start);
		assert.equal(BigInt(Number(start + gap / 2n + 1n)), start + gap);
	}
});

await test('a number is printed with 17 digits', () => {
	assert.equal(String(Number(ID)), PRINTED);
	assert.equal(JSON.stringify(Number(ID)), PRINTED);
	assert.equal(JSON.stringify(JSON.parse(`{"id":${ID}}`)), `{"id":${PRINTED}}`);
	// So is one that is no other number than the id.
	assert.equal(String(Number(NUMBER)), PRINTED);
});

await test('of ids with sequence 0, four in five are printed as other ones', async () => {
	const ids = await value(
		`SELECT array_agg(uid_make('2026-11-22Z'::timestamptz + ms * interval '1 ms', 805, 0, NULL, NULL, 'default'))
		 FROM generate_series(1, 1000) AS ms`);
	const { itself, another } = searches(ids);
	assert.ok(itself > 150 && itself < 250, `${itself} survive`);
	assert.equal(another, 0);
});

await test('of 1000 ids of one millisecond, over 900 become that of another row', async () => {
	const ids = await value(
		'SELECT array_agg(id) FROM uid_reserve(1000) AS first, generate_series(first, first + 999) AS id');
	const count = searches(ids);
	assert.ok(count.another > 900, `${count.another} of another row`);
});

await test('node-postgres returns bigint as text, also in arrays', async () => {
	assert.equal(await value('SELECT id FROM message'), ID);
	assert.deepEqual(await value('SELECT array_agg(id) FROM message'), [ID]);
});

await test('the parsers Number, parseInt and pg.defaults.parseInt8 round', async () => {
	const before = pg.types.getTypeParser(pg.types.builtins.INT8);
	for (const parser of [Number, parseInt, parseFloat]) {
		pg.types.setTypeParser(pg.types.builtins.INT8, parser);
		assert.equal(String(await value('SELECT id FROM message')), PRINTED);
	}
	pg.types.setTypeParser(pg.types.builtins.INT8, before);
	pg.defaults.parseInt8 = true;
	assert.equal(String(await value('SELECT id FROM message')), PRINTED);
	assert.equal(String(await value('SELECT array_agg(id) FROM message')), PRINTED);
	pg.defaults.parseInt8 = false;
	assert.equal(await value('SELECT id FROM message'), ID);
});

await test('the server writes all digits into JSON, and JSON.parse() rounds', async () => {
	for (const [json, id] of [
		['row_to_json(message)', (got) => got.id],
		['to_json(message)', (got) => got.id],
		['to_jsonb(message)', (got) => got.id],
		['to_json(id)', (got) => got],
		["json_build_object('id', id)", (got) => got.id],
		["jsonb_build_object('id', id)", (got) => got.id],
		['json_agg(id)', (got) => got[0]],
		['json_agg(message)', (got) => got[0].id],
		['jsonb_agg(message)', (got) => got[0].id],
	]) {
		const written = await value(`SELECT (${json})::text FROM message`);
		assert.ok(written.includes(ID), json);
		assert.equal(String(id(JSON.parse(written))), PRINTED, json);
		// node-postgres calls JSON.parse() by itself.
		assert.equal(String(id(await value(`SELECT ${json} FROM message`))), PRINTED, json);
	}
});

await test('a search by the number finds no row, or another one', async () => {
	const rounded = Number(ID);
	assert.equal(await value('SELECT count(*) FROM message WHERE id = $1', rounded), '0');
	// The numbers of this row and of the one before it are the same.
	await client.query('BEGIN');
	await client.query('INSERT INTO message VALUES ($1, $2)', [PRINTED, 'of somebody else']);
	assert.equal(await value('SELECT body FROM message WHERE id = $1', rounded), 'of somebody else');
	await client.query('ROLLBACK');
});

const message = pgTable('message', {
	id: bigint('id', { mode: 'number' }).primaryKey(),
	body: text('body'),
});

await test("Drizzle's mode 'number' rounds what it reads and what it searches for", async () => {
	const db = drizzle(client);
	const [row] = await db.select().from(message);
	assert.equal(String(row.id), PRINTED);
	assert.deepEqual(await db.select().from(message).where(eq(message.id, row.id)), []);
});

await client.end();
