// What the server has written down for these tests, and test/vectors.tsv.
import { readFileSync } from 'node:fs';

const unescape = (text) => text === '\\N' ? null : text.replace(/\\([btnrfv\\]|x[0-9a-f]{1,2})/g, (_, c) => ({ b: '\b', t: '\t', n: '\n', r: '\r', f: '\f', v: '\v', '\\': '\\' })[c] ?? String.fromCharCode(parseInt(c.slice(1), 16)));

/** The rows of a file, each a list of texts or nulls. */
export function rows(name) {
	return readFileSync(`${process.env.VECTORS}/${name}.tsv`, 'utf8').split('\n').slice(0, -1).map((line) => line.split('\t').map(unescape));
}

/** The lines of a file that is kept, but for its comments, as lists of texts. */
const kept = (name) => readFileSync(new URL(name, import.meta.url), 'utf8').split('\n').filter((line) => /^[^#]/.test(line)).map((line) => line.split('\t'));

/** The rows of test/vectors.tsv: kind, input, by, output, strict, note. */
export const vectors = () => kept('../vectors.tsv');

/** Published ids, which have a note. */
export function knownIds() {
	const number = (text) => text === '-' ? null : Number(text);
	return vectors().filter(([kind, , , , , note]) => kind === 'fields' && note).map(([, id, layout, output]) => {
		const [timestamp, datacenter, worker, tag, sequence] = output.split(' ');
		return { id, layout, timestamp, datacenter: number(datacenter), worker: number(worker), tag: number(tag), sequence: number(sequence) };
	});
}

/** Recorded guesses. */
export function knownGuesses() {
	const ends = { '': null, '-infinity': -(2n ** 63n), infinity: 2n ** 63n - 1n };
	const time = (text) => text in ends ? ends[text] : text;
	return kept('known-guesses.tsv').map(([given, since, until, layouts]) =>
		({ given: /^-?\d+n$/.test(given) ? BigInt(given.slice(0, -1)) : given, since: time(since), until: time(until), layouts }));
}
