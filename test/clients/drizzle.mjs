// drizzle.mjs: Drizzle, as docs/clients/drizzle.mjs has it.
import pg from 'pg';
import { begin_guest, check, increase, stored } from './checks.mjs';

const guest = begin_guest();

const client = new pg.Client();
await client.connect();
await client.query('CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next(), body text)');

//page
check('each row has its id', await stored([one.id, ...many.map((row) => row.id)], ['hello', 'a', 'b']));
check('all increase', increase([one.id, ...many.map((row) => row.id)]) && typeof one.id === 'bigint');
//page
check('ids that were drawn before are those of the rows', await stored(ids, ['c', 'd']));
//page
check('ids of a guest are those of the rows', await stored(made.map((row) => row.id), ['e', 'f']) && made.every((row) => guest.layout.decode(BigInt(row.id)).worker >= 512n));
await guest.close();
await client.end();
