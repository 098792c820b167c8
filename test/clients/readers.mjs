// readers.mjs: the reader of docs/readers.md that keeps a copy of a table in another database, beside those who change it.
import assert from 'node:assert';
import pg from 'pg';
import { check } from './checks.mjs';

//page

async function connect(config) {
	const client = new pg.Client(config);
	await client.connect();
	return client;
}

const source = await connect();
await source.query(`
	CREATE EXTENSION uidgen_tools;
	CREATE TABLE item (id bigint PRIMARY KEY DEFAULT uid_next(), name text NOT NULL, price numeric);
	INSERT INTO item (name, price) SELECT n, n FROM generate_series(1, 300) AS n;
	SELECT uid_track_changes('item', execute => true);
	CREATE VIEW item_changes AS
		SELECT c.* FROM (
			SELECT id, name, price, changed, false AS gone FROM item
			UNION ALL
			SELECT id, NULL, NULL, changed, true FROM item_deleted) AS c
		WHERE NOT (gone AND EXISTS (SELECT FROM item AS i WHERE i.id = c.id OFFSET 0))
			AND NOT EXISTS (SELECT FROM pg_class AS r WHERE r.oid IN ('item'::regclass, 'item_deleted'::regclass) AND r.relfilenode <> pg_relation_filenode(r.oid))`);
const database = `${source.database}_copy`;
await source.query(`CREATE DATABASE ${database}`);
const target = await connect({ database });
await target.query('CREATE TABLE item (id bigint PRIMARY KEY, name text, price numeric); CREATE TABLE item_place (last bigint); INSERT INTO item_place VALUES (NULL)');

let writing = 8;
let polls = 0;
let truncated = false;

/** As long as the reader has not come twenty times. */
async function write(seed) {
	const client = await connect();
	for (let n = 0; polls < 20; n++) {
		await client.query('BEGIN');
		await client.query('INSERT INTO item (name) VALUES ($1)', [String(seed)]);
		const { rows } = await client.query('SELECT id FROM item ORDER BY random() LIMIT 1 FOR UPDATE SKIP LOCKED');
		for (const { id } of rows)
			await client.query(['UPDATE item SET price = 1 WHERE id = $1', 'DELETE FROM item WHERE id = $1', 'UPDATE item SET id = uid_next() WHERE id = $1'][n % 3], [id]);
		await client.query(n % 10 === 9 ? 'ROLLBACK' : 'COMMIT');
		if (seed === 0 && polls >= 10 && !truncated) {
			await client.query('TRUNCATE item');
			truncated = true;
		}
	}
	await client.end();
	writing--;
}

const writers = Array.from({ length: writing }, (_, seed) => write(seed));
while (writing > 0) {
	await follow(source, target);
	polls++;
}
await Promise.all(writers);
const newest = (await source.query('SELECT max(changed) FROM item_changes')).rows[0].max;
for (let n = 0; n < 100000; n++) {
	await follow(source, target);
	if ((await target.query('SELECT last FROM item_place')).rows[0].last === newest) break;
}
const QUERY = 'SELECT id, name, price FROM item ORDER BY id';
const [rows, copied] = [(await source.query(QUERY)).rows, (await target.query(QUERY)).rows];
let equal = true;
try { assert.deepStrictEqual(copied, rows); } catch { equal = false; }
check('the copy equals the table', equal);
check('... which has rows', rows.length > 10);
await source.end();
await target.end();
