// text.mjs: ids as text, the first way out of docs/javascript.md.

import assert from 'node:assert/strict';
import test from 'node:test';
import { relations } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { bigint, pgTable, text } from 'drizzle-orm/pg-core';
import { client, value } from './database.mjs';

// The id of the page.
const ID = '250089339780861953';
const TEXT = '06Y3YXQSW0401';

await test('text: made in the query, all digits arrive', async () => {
	for (const build of ['json_build_object', 'jsonb_build_object']) {
		assert.deepEqual(await value(`SELECT ${build}('id', uid_to_text(id), 'body', body) FROM message`), { id: TEXT, body: 'hello' });
		assert.deepEqual(await value(`SELECT ${build}('id', id::text) FROM message`), { id: ID });
	}
	assert.deepEqual(
		await value('SELECT json_agg(m) FROM (SELECT uid_to_text(id) AS id, body FROM message) AS m'),
		[{ id: TEXT, body: 'hello' }]);
});

await test('text: in a generated column, all arrive, and sort() has them in the order of the ids', async () => {
	await client.query(
		`CREATE TABLE invoice (
		    id bigint PRIMARY KEY DEFAULT uid_next(),
		    number text COLLATE "C" GENERATED ALWAYS AS (uid_to_text(id)) STORED,
		    corrects bigint REFERENCES invoice)`);
	await client.query('INSERT INTO invoice (id) SELECT uid_next() FROM generate_series(1, 10000)');
	await client.query('ANALYZE invoice');

	const numbers = await value('SELECT json_agg(number ORDER BY id) FROM invoice');
	assert.equal(new Set(numbers).size, 10000);
	assert.deepEqual(JSON.parse(JSON.stringify(numbers)), numbers);
	assert.deepEqual([...numbers].reverse().sort(), numbers);
	assert.equal(
		await value('SELECT count(*) FROM invoice WHERE id = ANY (SELECT uid_from_text(t) FROM unnest($1::text[]) AS t)', numbers),
		'10000');
});

await test('text: the column has to be stored', async (t) => {
	if (await value("SELECT current_setting('server_version_num')::int") < 180000)
		return t.skip('nothing else before PostgreSQL 18');
	await assert.rejects(
		client.query('CREATE TABLE virtual (id bigint, number text GENERATED ALWAYS AS (uid_to_text(id)))'),
		{ code: '0A000' });
});

// Which index does a search for this text use?
async function index(condition, number) {
	const [{ Plan: plan }] = await value(`EXPLAIN (FORMAT JSON) SELECT * FROM invoice WHERE ${condition}`, number);
	return plan['Index Name'];
}

await test('text: the way back uses the index of the key', async () => {
	const number = await value('SELECT number FROM invoice LIMIT 1');
	assert.equal(await value('SELECT number FROM invoice WHERE id = uid_from_text($1)', number), number);
	assert.equal(await index('id = uid_from_text($1)', number), 'invoice_pkey');
	assert.equal(await index('uid_to_text(id) = $1', number), undefined);
	assert.equal(await index('number = $1', number), undefined);
});

await test('text: one that is of no id is an error with its own code', async () => {
	await assert.rejects(value('SELECT uid_from_text($1)', 'nonsense'), { code: '22P02' });
});

await test('text: exact also where Drizzle puts rows into rows', async () => {
	const invoice = pgTable('invoice', {
		id: bigint('id', { mode: 'bigint' }).primaryKey(),
		number: text('number').generatedAlwaysAs('uid_to_text(id)'),
		corrects: bigint('corrects', { mode: 'bigint' }),
	});
	const invoiceRelations = relations(invoice, ({ one }) => ({
		corrected: one(invoice, { fields: [invoice.corrects], references: [invoice.id] }),
	}));
	const db = drizzle(client, { schema: { invoice, invoiceRelations } });

	await client.query(
		'INSERT INTO invoice (id, corrects) SELECT 0, max(id) FROM invoice WHERE (id & 31) <> 0');
	const { number, wanted } = (await client.query(
		'SELECT n.number, o.number AS wanted FROM invoice AS n JOIN invoice AS o ON n.corrects = o.id')).rows[0];
	const [row] = await db.query.invoice.findMany({
		where: (table, { eq }) => eq(table.number, number),
		with: { corrected: { columns: { number: true } } },
	});
	assert.equal(row.corrected.number, wanted);
});

await client.end();
