// text.mjs: from the text of an id to its time in JavaScript, as docs/applications.md has it.
import pg from 'pg';
import { check } from './checks.mjs';

//page
const client = new pg.Client();
await client.connect();
const { rows } = await client.query(
	`SELECT id, uid_to_text(id) AS text, to_json(uid_timestamp(id) AT TIME ZONE 'UTC') #>> '{}' AS time
	 FROM (SELECT uid_next() AS id FROM generate_series(1, 1000)
	       UNION ALL SELECT floor(random() * 2::numeric ^ 63)::bigint FROM generate_series(1, 1000)) AS d`);
check('so it is for two thousand ids, as the server says', rows.every(({ id, text, time }) =>
	fromText(text) === BigInt(id) && toText(BigInt(id)) === text && Date.parse(parse(id, 'default').timestamp) === Date.parse(`${time}Z`)));
await client.end();
