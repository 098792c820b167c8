// node-postgres.mjs: node-postgres, as docs/clients/node-postgres.mjs has it.
import { check, increase, stored } from './checks.mjs';

//page
const first = rows[0].id;
//page
check('each row has its id', await stored([first, ...ids], ['hello', 'a', 'b']));
check('all increase', increase([first, ...ids]) && typeof first === 'string');
//page
check('ids that were drawn before are those of the rows', await stored(drawn, ['c', 'd']));
check('... in the order of the rows', increase([...ids, ...drawn]));
await client.end();
