// readers.mjs: the readers of docs/readers.md, which are clients/javascript/uidgen-reader.mjs: the consumer of an outbox, and a copy of a table in another
// database, beside those who write and change it.  A plain consumer of the same outbox loses rows.
import { isDeepStrictEqual as same } from 'node:util';
import pg from 'pg';
import { check } from './checks.mjs';

async function connect(config) {
	const client = new pg.Client(config);
	await client.connect();
	return client;
}

const source = await connect();
await source.query(`
	CREATE EXTENSION uidgen_tools;
	CREATE TABLE outbox (id bigint PRIMARY KEY DEFAULT uid_next(), topic text);
	CREATE TABLE "Out box" (id bigint PRIMARY KEY DEFAULT uid_next(), topic text);
	CREATE TABLE seen (id bigint);
	CREATE TABLE item (id bigint PRIMARY KEY DEFAULT uid_next(), name text NOT NULL, price numeric, tags jsonb DEFAULT '["a", null]', day date DEFAULT '2026-04-03', span interval DEFAULT '-1 day -02:03:04', ratio float8 DEFAULT 0.30000000000000004);
	INSERT INTO item (name, price) SELECT n, n FROM generate_series(1, 300) AS n;
	SELECT uid_track_changes('item', execute => true);
	CREATE VIEW item_changes AS
		SELECT c.* FROM (
			SELECT id, name, price, tags, day, span, ratio, changed, false AS gone FROM item
			UNION ALL
			SELECT id, NULL, NULL, NULL, NULL, NULL, NULL, changed, true FROM item_deleted) AS c
		WHERE NOT (gone AND EXISTS (SELECT FROM item AS i WHERE i.id = c.id OFFSET 0))
			AND NOT EXISTS (SELECT FROM pg_class AS r WHERE r.oid IN ('item'::regclass, 'item_deleted'::regclass) AND r.relfilenode <> pg_relation_filenode(r.oid));
	CREATE TABLE amount (id numeric PRIMARY KEY); SELECT uid_track_changes('amount', execute => true);
	CREATE VIEW amount_changes AS SELECT id, changed, false AS gone FROM amount UNION ALL SELECT id, changed, true FROM amount_deleted;`);
const database = `${source.database}_copy`;
for (const setting of ["datestyle = 'SQL, DMY'", 'intervalstyle = sql_standard', 'extra_float_digits = 0']) await source.query(`ALTER DATABASE ${source.database} SET ${setting}`);
await source.query(`CREATE DATABASE ${database}`);
const target = await connect({ database });
await target.query('CREATE TABLE item (id bigint PRIMARY KEY, name text, price numeric, tags jsonb, day date, span interval, ratio float8, half numeric GENERATED ALWAYS AS (price / 2) STORED)');
const [connectShop, connectCopy] = [() => new pg.Client(), () => new pg.Client({ database })];
const sent = [];

/** What fails is sent again; what it wrote is not there then. */
async function send(rows, client) {
	await client.query('INSERT INTO seen SELECT unnest($1::bigint[])', [rows.map(row => row.id)]);
	if (Math.random() < 0.2) throw new Error('not sent');
	sent.push(...rows.map(row => row.id));
}

//page
const outbox = new Consumer(connectShop, '"Out box"', "it's", { limit: 50, places: '"a Place"' });
check('without a place nothing is read', await outbox.poll(send).then(() => false, error => error.message.includes('a Place')));
await outbox.begin();

let writing = 8;
let polls = 0;
let truncated = false;

/** As long as the reader has not come twenty times. */
async function write(seed) {
	const client = await connect();
	for (let n = 0; polls < 20 || sent.length < 3000; n++) {
		await client.query('BEGIN');
		await client.query('INSERT INTO "Out box" (topic) VALUES ($1)', [String(seed)]);
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

/** A control: it goes on behind the last id that it has seen. */
const plain = [];
async function readPlainly() {
	const client = await connect();
	while (writing > 0)
		plain.push(...(await client.query('SELECT id FROM "Out box" WHERE id > $1 ORDER BY id', [plain.at(-1) ?? 0])).rows.map(row => row.id));
	await client.end();
}

const errors = new Set();
const writers = Array.from({ length: writing }, (_, seed) => write(seed));
const control = readPlainly();
const runner = outbox.run(send, { pause: 1, failed: error => errors.add(error.message) });
while (writing > 0) {
	await items.poll();
	polls++;
}
await Promise.all([...writers, control]);
const ids = (await source.query('SELECT id FROM "Out box" ORDER BY id')).rows.map(row => row.id);
for (let n = 0; n < 100000 && sent.length < ids.length; n++)
	await source.query('SELECT pg_sleep(0.001)');
outbox.stop();
await runner;
check('a consumer is handed each row of an outbox once, in order', same(sent, ids));
check('... beside errors, after which rows are handed over again', same([...errors], ['not sent']));
check('... and what it writes is there once', same((await source.query('SELECT count(*) AS n, count(DISTINCT id) AS ids FROM seen')).rows, [{ n: String(ids.length), ids: String(ids.length) }]));
check('... where a plain one loses rows', plain.length < ids.length);
check('the horizon blocks nobody', outbox.blockedSince === null);
const newest = (await source.query('SELECT max(changed) FROM item_changes')).rows[0].max;
for (let n = 0; n < 100000; n++) {
	await items.poll();
	if ((await target.query('SELECT last FROM reader_place')).rows[0].last === newest) break;
}
const QUERY = `SELECT id, name, price, tags, day - '2026-01-01' AS days, extract(epoch FROM span) AS seconds, ratio = 0.30000000000000004 AS same FROM item ORDER BY id`;
const { rows } = await source.query(QUERY);
check('the copy equals the table, which has rows', rows.length > 10 && same((await target.query(QUERY)).rows, rows));
await source.query("CREATE SCHEMA unknown; CREATE FUNCTION unknown.uid_horizon() RETURNS bigint LANGUAGE sql AS 'SELECT NULL::bigint'");
await target.query('UPDATE reader_place SET last = NULL');
const blind = new Copy(() => new pg.Client({ options: '-c search_path=unknown,public' }), connectCopy, 'item_changes', 'item');
check('a copy that begins anew keeps its rows while the horizon is null', await blind.poll() === 0 && blind.blockedSince && same((await target.query(QUERY)).rows, rows));
await target.query('INSERT INTO item (id) VALUES (1)');
check('... until rows come', await items.poll() > 10 && same((await target.query(QUERY)).rows, rows));
await target.query('CREATE TABLE amount (id numeric PRIMARY KEY)');
const amounts = new Copy(connectShop, connectCopy, 'amount_changes', 'amount');
await amounts.begin();
for (const key of ['1.0', '1.00']) {
	await source.query('INSERT INTO amount VALUES ($1) ON CONFLICT (id) DO UPDATE SET id = EXCLUDED.id', [key]);
	for (let n = 0; n < 100000 && !await amounts.poll(); n++);
}
check('a key that is written in another way is written so in the copy', (await target.query('SELECT id::text FROM amount')).rows[0].id === '1.00');
await Promise.all([source, target].map(client => client.end()).concat(consumer.close(), outbox.close(), items.close(), blind.close(), amounts.close()));
