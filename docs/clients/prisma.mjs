// Ids of uidgen in Prisma.  docs/applications.md says what to know; `./check clients` runs each part as it is.

// ---- a row, and several: prints { id: 251184690231091200n, body: 'hello' } and so on
const message = await prisma.message.create({ data: { body: 'hello' } });
console.log(message);
const many = await prisma.message.createManyAndReturn({ data: [{ body: 'a' }, { body: 'b' }], select: { id: true } });
console.log(many);

// ---- ids that are drawn before
const drawn = await prisma.$queryRaw`SELECT uid_next_batch(2) AS id`;
const ids = drawn.map((row) => row.id);
await prisma.message.createMany({ data: [{ id: ids[0], body: 'c' }, { id: ids[1], body: 'd' }] });

// ---- JSON: prints {"id":"251184690231091200","body":"hello"}
const json = JSON.stringify(message, (key, value) => typeof value === 'bigint' ? String(value) : value);
console.log(json);

// ---- ids of a guest (docs/guests.md): an extension of the client gives each row its id
const numbered = prisma.$extends({
	query: {
		message: {
			async create({ args, query }) {
				args.data.id ??= await guest.next();
				return query(args);
			},
		},
	},
});
const made = [await numbered.message.create({ data: { body: 'e' } }), await numbered.message.create({ data: { body: 'f' } })];
