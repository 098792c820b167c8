// Ids of uidgen in node-postgres.  docs/applications.md says what to know; `./check clients` runs each part as it is.

// ---- the table, and a row: prints 251184669603504128, a text
import pg from 'pg';

const client = new pg.Client();
await client.connect();
await client.query('CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next(), body text)');

const { rows } = await client.query('INSERT INTO message (body) VALUES ($1) RETURNING id', ['hello']);
console.log(rows[0].id);

// ---- several rows
const many = await client.query('INSERT INTO message (body) SELECT unnest($1::text[]) RETURNING id', [['a', 'b']]);
const ids = many.rows.map((row) => row.id);
console.log(ids);

// ---- ids that are drawn before
const drawn = (await client.query('SELECT uid_next_batch($1) AS id', [2])).rows.map((row) => row.id);
await client.query('INSERT INTO message (id, body) SELECT * FROM unnest($1::bigint[], $2::text[])', [drawn, ['c', 'd']]);
