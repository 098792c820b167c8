// prisma.mjs: Prisma, as docs/clients/prisma.mjs has it.  "prisma generate" does without the engine for
// migrations, which npm does not have: whatever exists stands for it.  Nor does it use what package.json leaves out.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import pg from 'pg';
import { PrismaPg } from '@prisma/adapter-pg';
import { begin_guest, check, increase, stored } from './checks.mjs';

const guest = begin_guest();

//page > schema.prisma
writeFileSync('without.cjs', `const Module = require('module'), load = Module._load;
	Module._load = (name, ...more) => /^@prisma.(dev|studio-core)/.test(name) ? {} : load(name, ...more);`);
const prismaCommand = createRequire(import.meta.url).resolve('prisma/build/index.js');
execFileSync(process.execPath, ['--require', './without.cjs', prismaCommand, 'generate', '--schema', 'schema.prisma'], {
	env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: '/bin/true', CHECKPOINT_DISABLE: '1' }, stdio: ['ignore', 'ignore', 'inherit'] });
const { PrismaClient } = createRequire(import.meta.url)('./client');

const client = new pg.Client();
await client.connect();
await client.query(
	`CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next(), body text NOT NULL);
	 CREATE TABLE reply (id bigint PRIMARY KEY DEFAULT uid_next(), message_id bigint NOT NULL REFERENCES message)`);

const statements = [];
const prisma = new PrismaClient({
	adapter: new PrismaPg({ host: process.env.PGHOST, port: Number(process.env.PGPORT), user: process.env.PGUSER, database: process.env.PGDATABASE }),
	log: [{ emit: 'event', level: 'query' }] });
prisma.$on('query', (event) => statements.push(event.query));

//page
const all = [message.id, ...many.map((row) => row.id)];
check('an INSERT for one row, and one for many', statements.filter((sql) => sql.startsWith('INSERT')).length === 2);
check('each row has its id', await stored(all, ['hello', 'a', 'b']) && increase(all) && typeof message.id === 'bigint');
const thread = await prisma.message.create({ data: { body: 'thread', replies: { create: [{}, {}] } }, include: { replies: true } });
check('rows below a row have ids and refer to it', increase([thread.id, ...thread.replies.map((row) => row.id)]) &&
	thread.replies.every((row) => row.message_id === thread.id));
//page
check('ids that were drawn before are those of the rows', await stored(ids, ['c', 'd']));
//page
check('JSON has all digits as text', JSON.parse(json).id === String(message.id));
let error;
try {
	JSON.stringify(message);
} catch (e) {
	error = e;
}
check('without a replacer it is an error', error instanceof TypeError);
//page
check('ids of a guest are those of the rows', await stored(made.map((row) => row.id), ['e', 'f']) && made.every((row) => guest.layout.decode(BigInt(row.id)).worker >= 512n));
await guest.close();
await prisma.$disconnect();
await client.end();
