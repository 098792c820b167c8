// What the server has written down for these tests, and what others have published.
import { readFileSync } from 'node:fs';

const unescape = (text) => text === '\\N' ? null : text.replace(/\\([btnrfv\\]|x[0-9a-f]{1,2})/g, (_, c) => ({ b: '\b', t: '\t', n: '\n', r: '\r', f: '\f', v: '\v', '\\': '\\' })[c] ?? String.fromCharCode(parseInt(c.slice(1), 16)));

/** The rows of a file, each a list of texts or nulls. */
export function rows(name) {
	return readFileSync(`${process.env.VECTORS}/${name}.tsv`, 'utf8').split('\n').slice(0, -1).map((line) => line.split('\t').map(unescape));
}

/** Published ids: those whose fields are known. */
export function knownIds() {
	const number = (text) => text === '' ? null : Number(text);
	return readFileSync(new URL('../unit/known-ids.tsv', import.meta.url), 'utf8').split('\n').filter((line) => /^\d/.test(line)).map((line) => {
		const [id, layout, timestamp, datacenter, worker, tag, sequence, tolerance] = line.split('\t');
		return { id, layout, timestamp, datacenter: number(datacenter), worker: number(worker), tag: number(tag), sequence: number(sequence), tolerance: Number(tolerance) };
	});
}
