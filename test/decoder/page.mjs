// The page says what the extension says, in a headless Chromium; it can be used with the keyboard, is read aloud, and fits
// its window, in light and dark.
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { make, parse, parseLayout, parseTime } from '../../docs/uidgen.mjs';
import { startBrowser } from './browser.mjs';
import { knownIds, rows } from './vectors.mjs';

const file = new URL('../../docs/decoder.html', import.meta.url);
let browser, page;
before(async () => {
	browser = await startBrowser();
	page = await browser.openPage(1280, 900);
});
after(() => browser?.close());

/** What the page tells of the first id. */
const answer = (of) => of.evaluate(`Object.fromEntries(['timestamp', 'datacenter', 'worker', 'tag', 'sequence', 'layout'].map((id) => [id, document.getElementById(id).textContent]))`);
const fragment = (id, layout) => `#id=${encodeURIComponent(id)}${layout ? `&layout=${encodeURIComponent(layout)}` : ''}`;

function isKnown(got, { id, layout, timestamp, datacenter, worker, tag, sequence }) {
	assert.equal(Date.parse(got.timestamp), Date.parse(timestamp), id);
	const text = (value) => value === null ? '' : String(value);
	assert.deepEqual([got.datacenter, got.worker, got.tag, got.sequence], [datacenter, worker, tag, sequence].map(text), `${id} ${layout}`);
}

test('the page is one file below 100 kB', () => {
	assert.ok(statSync(fileURLToPath(file)).size < 100000);
});

test('from disk, a link opens decoded: published ids', async () => {
	for (const known of knownIds()) {
		await page.open(file + fragment(known.id, known.layout));
		const got = await answer(page);
		isKnown(got, known);
		assert.equal(got.layout, known.layout);
	}
});

test('... and without a layout the one that it has is among the first three', async () => {
	for (const known of knownIds().filter((k) => !k.layout.includes(':'))) {
		await page.open(file + fragment(known.id, ''));
		const names = await page.evaluate(`[...document.querySelectorAll('#guesses tbody tr')].slice(0, 3).map((row) => row.cells[1].textContent)`);
		assert.ok(names.some((text) => text.split(/[ ,]+/).includes(known.layout)), `${known.id}: ${names.join('; ')}`);
		assert.equal(await page.text('layout'), names[0].split(' ')[0]);
	}
});

test('from a web server, and nothing else is asked for', async () => {
	const server = createServer((request, response) => {
		response.writeHead(request.url.startsWith('/decoder.html') ? 200 : 404, { 'Content-Type': 'text/html' });
		response.end(request.url.startsWith('/decoder.html') ? readFileSync(file) : '');
	});
	await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
	try {
		const served = await browser.openPage(1280, 900);
		const known = knownIds()[0];
		const url = `http://127.0.0.1:${server.address().port}/decoder.html`;
		await served.open(url + fragment(known.id, known.layout));
		isKnown(await answer(served), known);
		assert.deepEqual(served.asked.filter((asked) => !/^about:|^data:/.test(asked)).map((asked) => asked.replace(/#.*/, '')), [url]);
		assert.deepEqual(served.said, []);
		await served.close();
	} finally {
		server.close();
	}
});

test('the module, as a browser imports it, and ten thousand ids of all presets', async () => {
	const ids = rows('ids').map(([id, layout, micros, ...fields]) => [id, layout, micros, ...fields.slice(0, 4)]);
	const source = readFileSync(new URL('../../docs/uidgen.mjs', import.meta.url), 'utf8');
	const bad = await page.evaluate(`(async () => {
		// The page itself allows no import from anywhere.
		const source = ${JSON.stringify(source)}.replace(/^export /gm, '');
		const module = new Function(source + '\\nreturn { parse };')();
		return ${JSON.stringify(ids)}.filter(([id, layout, micros, ...fields]) => {
			const got = module.parse(id, layout);
			return String(got.micros) !== micros || ['datacenter', 'worker', 'tag', 'sequence'].some((name, i) => String(got[name]) !== String(fields[i]));
		});
	})()`).catch((error) => error);
	assert.deepEqual(bad, []);
	assert.ok(ids.length >= 10000);
});

test('ten thousand ids in the page, a hundred at a time', async () => {
	await page.open(String(file));
	const byLayout = new Map();
	for (const [id, layout, micros, datacenter, worker, , sequence] of rows('ids'))
		byLayout.set(layout, [...(byLayout.get(layout) ?? []), [id, micros, [datacenter, worker].filter((n) => n !== null).join(' / '), sequence ?? '']]);
	let seen = 0;
	for (const [layout, all] of byLayout)
		for (let i = 0; i < all.length; i += 100) {
			const some = all.slice(i, i + 100);
			const got = await page.evaluate(`(async () => {
				const loaded = new Promise((resolve) => addEventListener('hashchange', () => setTimeout(resolve), { once: true }));
				location.hash = ${JSON.stringify(fragment(some.map(([id]) => id).join('\n'), layout))};
				await loaded;
				return [document.getElementById('message').textContent, ...[...document.querySelectorAll('#list tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))];
			})()`);
			assert.equal(got.shift(), '');
			assert.deepEqual(got, some.map(([id, , worker, sequence]) => [id, parse(id, layout).timestamp, worker, sequence]));
			seen += got.length;
		}
	assert.ok(seen >= 10000);
	assert.deepEqual(page.said, []);
});

test('forms: each text of an id is the id, and the page shows them all', async () => {
	for (const [id, layout, , , , , , ...texts] of rows('ids').filter((_, i) => i % 400 === 1)) {
		for (const text of texts.filter((t) => t !== null)) {
			await page.open(file + fragment(text, layout));
			const shown = await page.evaluate(`[...document.querySelectorAll('#forms td:nth-child(2)')].map((cell) => cell.textContent)`);
			assert.ok(shown.includes(text), `${text} of ${id}: ${shown.join(' ')}`);
			// 11 digits can be base58 and base62.
			assert.ok(shown.includes(id) || text.length === 11 && (await page.text('read-as')).includes(`As base62 it is ${id}.`), `${text} of ${id}: ${shown.join(' ')}`);
		}
	}
});

test('a ULID, and a uuid that holds no id, have their time', async () => {
	await page.open(file + fragment('01ARZ3NDEKTSV4RRFFQ69G5FAV', ''));
	assert.deepEqual(await answer(page), { timestamp: '2016-07-30T23:54:10.259Z', datacenter: '', worker: '', tag: '', sequence: '', layout: 'ulid' });
	await page.open(file + fragment('017F22E2-79B0-7CC3-98C4-DC0C0C07398F', ''));
	assert.equal(await page.text('timestamp'), '2022-02-22T19:22:22.000Z');
});

test('what cannot be read is said, and shows nothing old', async () => {
	await page.open(file + fragment('1278735254782615552', 'twitter'));
	for (const [id, layout, message] of [['nonsense', '', /"nonsense" is no id/], ['1278735254782615552', 'twetter', /no such preset/], ['-1', 'twitter', /does not fit/],
		['4711', '', /No known layout/]]) {
		await page.evaluate(`location.hash = ${JSON.stringify(fragment(id, layout))}`);
		await page.waitFor(`${message}.test(document.getElementById('message').textContent)`);
		assert.deepEqual(Object.values(await answer(page)), ['', '', '', '', '', ''], id);
		assert.equal(await page.evaluate(`document.getElementById('answers').hidden`), true);
	}
	await page.evaluate(`location.hash = ${JSON.stringify(fragment('1278735254782615552', 'twitter'))}`);
	await page.waitFor(`document.getElementById('worker').textContent === '2'`);
	assert.equal(await page.text('message'), '');
});

test('many ids: how many, how fast, and from whom', async () => {
	const ids = [...Array(30).keys()].map((n) => String((1000000000n + BigInt(n) * 500n << 22n) | (n % 3 === 0 ? 7n : 9n) << 12n));
	await page.open(file + fragment([...ids, ids[0]].join('\n'), 'default'));
	const text = (await page.text('many')).replace(/\s+/g, ' ');
	assert.match(text, /31 ids.*Different30.*1 come again.*First2025-01-12 13:46:40\.000.*Last2025-01-12 13:46:54\.500.*14 seconds later.*Rate2\.069 a second.*3 in the busiest second/);
	assert.deepEqual(await page.evaluate(`[...document.querySelectorAll('#workers tr')].map((row) => [row.cells[0].textContent, row.cells[1].textContent])`), [['9', '20'], ['7', '11']]);
});

test('typed, with the keyboard alone: decode, narrow, and the fragment to share', async () => {
	await page.open(String(file));
	const focused = () => page.evaluate('document.activeElement.id || document.activeElement.textContent');
	const reached = [];
	for (let i = 0; i < 12; i++) {
		await page.press('Tab');
		reached.push(await focused());
		if (reached.at(-1) === 'ids')
			break;
	}
	assert.deepEqual(reached, ['tab-decode', 'ids']);
	assert.match(await page.text('near'), /^An example: 252841397300297728,/);
	assert.equal(await page.text('timestamp'), '2026-11-29T17:01:26.682Z');
	assert.equal(new URL(await page.evaluate('location.href')).hash, '');
	await page.type('175928847299117063');
	await page.waitFor(`!document.getElementById('near').textContent.includes('An example') && document.getElementById('timestamp').textContent !== ''`);
	const first = await page.evaluate('location.href');
	assert.equal(new URL(first).hash, '#id=175928847299117063');
	assert.notEqual(await page.evaluate(`getComputedStyle(document.activeElement).outlineStyle`), 'none', 'the focus is seen');
	// Past the three examples, to the layout
	for (let i = 0; i < 4; i++)
		await page.press('Tab');
	assert.equal(await focused(), 'as');
	await page.type('discord');
	await page.waitFor(`document.getElementById('layout').textContent === 'discord'`);
	assert.equal(await page.text('timestamp'), '2016-04-30T11:18:25.796Z');
	assert.equal(new URL(await page.evaluate('location.href')).hash, '#id=175928847299117063&layout=discord');
	const other = await browser.openPage(390, 800);
	await other.open(await page.evaluate('location.href'));
	assert.deepEqual(await answer(other), await answer(page), 'the link opens the same');
	await other.close();
	// What is known of the time leaves one.
	await page.open(`${file}#id=175928847299117063&since=2016-04-01&until=2016-05-31`);
	assert.equal(await page.text('layout'), 'discord');
	assert.equal(await page.evaluate(`document.getElementById('narrow').open`), true);
});

test('ids as they stand in logs and programs', async () => {
	for (const text of ['id=175928847299117063', '{"id": 175928847299117063, "id": 175928847299117064}', "[ 175928847299117063n, 175928847299117064n ]", "where id in ('175928847299117063', '175928847299117064');", 'message_id:175928847299117063']) {
		await page.open(`${file}#id=&layout=discord`);
		await page.evaluate(`(() => { const ids = document.getElementById('ids'); ids.value = ${JSON.stringify(text)}; ids.dispatchEvent(new Event('input', { bubbles: true })); })()`);
		assert.equal(await page.text('timestamp'), '2016-04-30T11:18:25.796Z', text);
		// What is no id in it is named, and nothing else.
		assert.equal(await page.text('message'), /^where/.test(text) ? '"where" is no id in any form that is known\n"id" is no id in any form that is known\n"in" is no id in any form that is known' : '', text);
		assert.equal(new URLSearchParams(new URL(await page.evaluate('location.href')).hash.slice(1)).get('id').split('\n')[/^where/.test(text) ? 3 : 0], '175928847299117063', text);
	}
	// Digits with an n behind them can be base58.
	await page.open(`${file}#id=1234567892n`);
	assert.match(await page.text('read-as'), /Read as base58/);
});

test('where layouts are near each other, the others stand beside the time', async () => {
	await page.open(file + fragment('1278735254782615552', ''));
	assert.equal(await page.text('near'), 'It may as well be of twitter, 2020-07-02 17:00:17.');
	// As by day and hour, one may be right that a longer list says.
	await page.open(file + fragment('6904926959046938624', ''));
	assert.equal(await page.text('near'), 'It may as well be of tiktok, 2020-12-11 09:23:08.');
	for (const [id, layout] of [['1278735254782615552', 'twitter'], ['103270115826048975', '']]) {
		await page.open(file + fragment(id, layout));
		assert.equal(await page.text('near'), '', `${id} ${layout}`);
	}
});

/** Opens a page until it finds what the browser is to keep, which is written down by and by. */
async function openKept(of, url, name, value) {
	for (let tries = 0; tries < 200; tries++) {
		await of.open(url);
		if (await of.evaluate(`localStorage.getItem('uidgen.${name}')`) === value)
			return;
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
	assert.fail(`${name} is not kept`);
}

test('layouts that are remembered come first, until they are forgotten', async () => {
	const own = 'time:40:1ms worker:11 sequence:12 epoch:2015-01-01';
	const id = '1278735254782615552';
	await page.open(file + fragment(id, own));
	await page.evaluate(`document.getElementById('remember').click()`);
	await openKept(page, file + fragment(id, ''), 'layouts', own);
	assert.equal(await page.text('layout'), own);
	assert.equal(await page.text('near'), '');
	assert.ok(await page.evaluate(`[...document.querySelectorAll('#presets option')].some((o) => o.value === ${JSON.stringify(own)})`));
	assert.equal(await page.evaluate(`document.getElementById('remember')`), null);
	await page.evaluate(`document.querySelector('#own button').click()`);
	await openKept(page, file + fragment(id, ''), 'layouts', '');
	assert.equal(await page.text('layout'), 'discord');
	assert.equal(await page.text('own'), '');
	// What is in the store may be anybody's.
	await page.evaluate(`localStorage.setItem('uidgen.layouts', 'nonsense\\n<b>\\n\\n${own}')`);
	await openKept(page, file + fragment(id, ''), 'layouts', own);
	assert.equal(await page.text('layout'), own);
	await page.evaluate('localStorage.clear()');
	assert.deepEqual(page.said, []);
});

test('the local time zone, over a change of its hour', async () => {
	const berlin = await browser.openPage(1280, 900);
	await berlin.zone('Europe/Berlin');
	const ids = [parseTime('2026-10-24T23:30:00Z'), parseTime('2026-10-25T00:30:00Z'), parseTime('2026-10-25T01:30:00Z')].map((micros) => make({ micros }, 'default'));
	await berlin.open(file + fragment(ids.join('\n'), 'default'));
	assert.equal(await berlin.text('timestamp'), '2026-10-24T23:30:00.000Z');
	await berlin.evaluate(`(() => { const zone = document.getElementById('zone'); zone.value = 'local'; zone.dispatchEvent(new Event('input', { bubbles: true })); })()`);
	assert.deepEqual(await berlin.evaluate(`[...document.querySelectorAll('#list tbody tr')].map((row) => row.cells[1].textContent)`),
		['2026-10-25T01:30:00.000+02:00', '2026-10-25T02:30:00.000+02:00', '2026-10-25T02:30:00.000+01:00']);
	await openKept(berlin, file + fragment(ids[2], 'default'), 'zone', 'local');
	assert.equal(await berlin.text('timestamp'), '2026-10-25T02:30:00.000+01:00', 'it is remembered');
	await berlin.open(`${file}#from=2026-10-25T00:00:00&to=2026-10-26T00:00:00&zone=local`);
	assert.equal(await berlin.text('where'), `id BETWEEN ${make({ timestamp: '2026-10-24T22:00:00Z' }, 'default')} AND ${make({ timestamp: '2026-10-25T23:00:00Z' }, 'default') - 1n}`, 'a day of 25 hours');
	await berlin.evaluate('localStorage.clear()');
	await berlin.close();
});

test('all rows as CSV', async () => {
	const ids = [...Array(150).keys()].map((n) => make({ micros: parseTime('2026-11-22') + BigInt(n) * 1000000n, worker: n, sequence: n }, 'default'));
	await page.open(file + fragment([...ids, '06Y784EKEPG00'].join('\n'), 'default'));
	const text = await page.save('csv', 'ids.csv');
	const lines = text.split('\r\n');
	assert.equal(lines.length, 153);
	assert.equal(lines[0], 'given,id,time,datacenter,worker,tag,sequence');
	assert.deepEqual(lines.slice(1, 151), ids.map((id, n) => `${id},${id},${parse(id, 'default').timestamp},,${n},,${n}`));
	assert.match(lines[151], /^06Y784EKEPG00,\d+,2026-/);
	assert.equal(lines[152], '');
});

test('from a time to ids', async () => {
	await page.open(`${file}#from=2026-11-01T00:00:00&to=2026-12-01T00:00:00`);
	assert.equal(await page.text('where'), 'id BETWEEN 242437482086400000 AND 253309118054399999');
	assert.equal(await page.text('where-between'), `uid_between(id, '2026-11-01 00:00:00+00', '2026-12-01 00:00:00+00', 'default')`);
	await page.evaluate(`(() => { document.getElementById('to').value = ''; document.getElementById('range-as').value = 'js53'; document.getElementById('times').dispatchEvent(new Event('input')); })()`);
	assert.equal(await page.text('where'), `id >= ${make({ timestamp: '2026-11-01' }, 'js53')}`);
	assert.equal(new URL(await page.evaluate('location.href')).hash, '#from=2026-11-01T00:00&zone=utc&layout=js53');
	for (const [hash, message] of [['#from=2026-11-01T00:00:00&layout=seata', /not in the order of time/], ['#from=2026-11-02T00:00:00&to=2026-11-01T00:00:00', /No id is in between/], ['#from=2026-11-02T00:00:00&layout=twetter', /no such preset/]]) {
		await page.open(file + hash);
		assert.match(await page.text('range-message'), message);
		assert.equal(await page.evaluate(`document.getElementById('range-card').hidden`), true);
	}
});

test('designed, with the keyboard alone', async () => {
	await page.open(String(file));
	await page.press('Tab');
	await page.press('ArrowRight');
	assert.equal(await page.evaluate(`document.activeElement.id + document.getElementById('design').hidden`), 'tab-designfalse');
	await page.press('Tab');
	assert.equal(await page.evaluate('document.activeElement.id'), 'plan-time');
	await page.press('ArrowLeft');
	await page.waitFor(`document.getElementById('setting').textContent === "uidgen.layout = 'time:40:1ms worker:10 sequence:12 epoch:2025-01-01'"`);
	assert.match(await page.text('sql'), /^ALTER SYSTEM SET uidgen\.layout = 'time:40:1ms [^']*';\nSELECT \* FROM uid_layout_info\('time:40:1ms [^']*'\);$/);
	const link = await page.evaluate('location.href');
	await page.open(link);
	assert.match(await page.text('setting'), /time:40:1ms/);
	await page.press('Tab');
	await page.press('ArrowLeft');
	assert.equal(await page.evaluate(`document.getElementById('decode').hidden`), false, 'and back');
});

test('a design has the room that the extension says', async () => {
	const rooms = rows('room');
	assert.ok(rooms.length >= 5);
	for (const [layout, expires, workers, perSecond, fits53] of rooms) {
		await page.open(`${file}#design=${encodeURIComponent(layout)}&servers=3`);
		assert.equal(await page.text('setting'), `uidgen.layout = '${layout}'`);
		const facts = await page.evaluate(`Object.fromEntries([...document.querySelectorAll('#facts > div')].map((fact) => [fact.querySelector('dt').textContent, fact.querySelector('dd').firstChild.textContent.replace(/\\u202f/g, '')]))`);
		assert.deepEqual([facts['Lasts until'].replace(/^\+0*/, ''), facts['Workers'], facts['Ids a second, each worker'], facts['JavaScript\u2019s numbers']],
			[expires, workers, perSecond, fits53 === 't' ? 'hold every id' : 'round ids'], layout);
	}
	await page.open(`${file}#design=time:41:1ms+worker:3+sequence:9+epoch:2025-01-01&servers=3`);
	assert.match(await page.text('facts'), /Two of 3 servers meet34 %/);	// 1 - 7/8 * 6/8
	await page.open(`${file}#design=time:41:1ms+worker:11+sequence:12+epoch:2025-01-01`);
	assert.match(await page.text('plan-message'), /No ids can be made/);
	assert.equal(await page.evaluate(`document.getElementById('setting-card').hidden`), true);
});

test('a screen reader has a name for all that can be used', async () => {
	// By its label: a placeholder would be a name, too.
	for (const [where, labels] of [['#id=175928847299117063', ['Ids, one a line', 'Layout', 'Decode', 'Design', 'Copy base32']],
		['#design=', ['Time', 'A tick of the time', 'Datacenter', 'Worker', 'Tag, a value of the caller\u2019s', 'Sequence', 'Servers that choose a worker id by themselves']],
		['#from=2026-11-01T00:00:00', ['From', 'To, not included', 'Time zone', 'Layout', 'Time to id', 'Copy']]]) {
		await page.open(file + where);
		const { nodes } = await page.accessibility();
		const used = nodes.filter((n) => !n.ignored && ['textbox', 'combobox', 'slider', 'button', 'link', 'tab', 'tabpanel', 'Date', 'DateTime', 'InputTime', 'img', 'DisclosureTriangle'].includes(n.role?.value));
		assert.ok(used.length > 5, where);
		assert.deepEqual(used.filter((n) => !n.name?.value).map((n) => n.role.value), []);
		assert.deepEqual(labels.filter((label) => !used.some((n) => n.name.value === label)), []);
	}
});

// In the window: the rectangles of each line of text, by the element that has it.
const TEXTS = `(() => {
	const found = [];
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let node = walk.nextNode(); node; node = walk.nextNode()) {
		const parent = node.parentElement;
		if (!node.data.trim() || !parent.checkVisibility({ checkVisibilityCSS: true, visibilityProperty: true }) || parent.closest('.scroll, datalist, script'))
			continue;
		const range = document.createRange();
		range.selectNodeContents(node);
		const inline = getComputedStyle(parent);
		for (const r of range.getClientRects())
			if (r.width > 0)
				found.push({ text: node.data.trim().slice(0, 30), left: r.left, right: r.right, top: r.top, bottom: r.bottom, colour: inline.color,
					behind: (function behind(e) { const colour = e ? getComputedStyle(e).backgroundColor : 'rgb(255, 255, 255)'; return /, 0\\)$/.test(colour) ? behind(e.parentElement) : colour; })(parent) });
	}
	return found;
})()`;

function contrast(a, b) {
	const light = (colour) => colour.match(/[\d.]+/g).slice(0, 3).map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
		.reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
	const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
	return (high + 0.05) / (low + 0.05);
}

for (const [width, dark] of [[1280, false], [1280, true], [900, false], [390, false], [390, true], [320, false]])
	test(`${width} pixels, ${dark ? 'dark' : 'light'}: nothing overlaps, all is in the window and can be read`, async () => {
		const sized = await browser.openPage(width, 800, dark);
		const many = rows('ids').filter(([, layout]) => layout === 'twitter').slice(0, 50).map(([id]) => id).join('\n');
		for (const where of ['', '#id=175928847299117063', '#id=148656994422095873&layout=cockroachdb', '#id=5&layout=tag:31+time:20:1500us+datacenter:9+zero:1+sequence:2+epoch:2025-01-01T01:02:03.456789Z',
			fragment(many, 'twitter'), '#id=01ARZ3NDEKTSV4RRFFQ69G5FAV', '#id=nonsense-that-is-long-and-has-no-place-to-break-itself', '#id=1278735254782615552', '#from=2026-11-01T00:00:00&to=2026-12-01T00:00:00&layout=time:20:1500us+datacenter:9+sequence:2+epoch:2025-01-01T01:02:03.456789Z', '#design=', '#design=time:63:60s+epoch:2025-01-01&since=2020-01-01',
			'#id=1&since=2020-01-01']) {
			await sized.open(file + where);
			assert.ok(await sized.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${where}: wider than the window`);
			const texts = await sized.evaluate(TEXTS);
			assert.ok(texts.length > 8, where);
			assert.deepEqual(texts.filter((t) => t.left < 0 || t.right > width + 0.5), [], `${where}: outside of the window`);
			const overlaps = [];
			for (let i = 0; i < texts.length; i++)
				for (let j = i + 1; j < texts.length; j++) {
					const a = texts[i], b = texts[j];
					if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3)
						overlaps.push(`${a.text} / ${b.text}`);
				}
			assert.deepEqual(overlaps, [], where);
			assert.deepEqual(texts.filter((t) => contrast(t.colour, t.behind) < 4.5).map((t) => `${t.text}: ${t.colour} on ${t.behind}`), [], where);
		}
		assert.deepEqual(sized.said, []);
		await sized.close();
	});
